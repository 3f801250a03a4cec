"""Findings made anew: what a real tool says today at the place where it was once seen to be wrong.

A finding *shows* where the unwinder is not exact there, and comes out as the finding says, if that says how. Some tools
remember earlier questions: where the place alone is answered rightly, every step of the run before it is asked first.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.naming.beside import folded_names
from testbed.referee import Finding, Found, Referee
from testbed.referee.versions import Tell, of_tool, unwinders_of_versions
from testbed.runs.by_name import Programs, named_run
from testbed.runs.frames_beside import told
from testbed.runs.run import Run, judge, run_built
from testbed.verdicts.verdict import Verdict
from testbed.words.errors import TestbedError, ToolchainMissing, VersionMissing

SEED, BUDGET = 1, 1_000_000
_PLACE = re.compile(r" \([^()]*/[^()]*\)")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What became of a finding: what was said and true there today, or why it could not be tried (``missing``).

    ``tool`` is the version that said it, ``command`` the one command that shows it. ``shows`` is false where the tool
    is right, or wrong in another way than the finding says; ``problem`` is an error on the way there.
    """

    referee: Referee
    finding: Finding
    command: str
    tool: str = ""
    where: str = ""
    instruction: str = ""
    truth: str = ""
    said: str = ""
    verdict: Verdict | None = None
    shows: bool = False
    missing: str = ""
    problem: str = ""

    @property
    def version(self) -> str:
        """The version that was asked, as ``seen_in`` and ``not_in`` of a finding have it."""
        return self.tool.rpartition(" ")[2]

    @property
    def repaired(self) -> bool:
        """True where its data say that versions after the last one that shows it do not, whichever is asked here."""
        return bool(self.finding.gone_since)

    @property
    def as_recorded(self) -> bool:
        """False where it does not show and no data say so, or shows although they say that it does not."""
        return bool(self.missing) or self.shows != (self.version in self.finding.not_in)


def show(referee: Referee, finding: Finding, unwinders: Mapping[str, Unwinder], programs: Programs) -> Reproduction:
    """Build, run, ask and judge again. What goes wrong on the way is in the value, never raised."""
    unwinder = unwinders.get(finding.unwinder)
    found = referee.find()
    if found is None or unwinder is None:
        return Reproduction(referee, finding, command_of(finding), missing=f"not installed: {referee.package}")
    tool = version_of(unwinder.tool() if unwinder.tool is not None else f"{referee.name} {found.version}")
    try:
        run = named_run(programs, finding.program, finding.arch, finding.recipe, seed=SEED, budget=BUDGET, fresh=False)
        step = run.step_at(finding.at)
    except ToolchainMissing as missing:
        return Reproduction(referee, finding, command_of(finding), tool, missing=str(missing))
    except TestbedError as error:
        return Reproduction(referee, finding, command_of(finding), tool, problem=str(error))
    said, before = unwinder.unwind(run[step]), False
    if judge(run, step, said).exact:
        run = run_built(run.built, seed=SEED, budget=BUDGET)  # loaded anew: nothing is remembered of it
        for step_before in range(step):
            unwinder.unwind(run[step_before])
        said, before = unwinder.unwind(run[step]), True
    snapshot = run[step]
    verdict = judge(run, snapshot, said, unwinder)
    return Reproduction(
        referee,
        finding,
        command_of(finding, before=before),
        tool,
        run.where(snapshot.pc),
        run.instruction(step),
        folded_names(run.place(frame) for frame in run.truth(step).frames) + " (root)",
        _words(run, step, said),
        verdict,
        shows=not verdict.exact and finding.outcome in ("", verdict.outcome.value),
    )


def in_all_versions(
    referee: Referee, finding: Finding, programs: Programs, tell: Tell
) -> tuple[Finding, Mapping[str, str]]:
    """A finding with the versions that show it today, and those that do not; why others could not be asked, by version.

    What could not be asked stays as the data have it.
    """
    shows: dict[str, bool] = {
        **dict.fromkeys(finding.seen_in, True),
        **dict.fromkeys(finding.not_in, False),
    }
    missing = {}
    for version in of_tool(referee.name):
        name = f"{finding.unwinder}@{version.version}"
        try:
            (unwinder,) = unwinders_of_versions([name], tell)
        except VersionMissing as error:
            missing[version.version] = str(error)
            continue
        here = replace(referee, find=lambda: Found(version.version, name))  # noqa: B023 - asked before the next one
        shown = show(here, replace(finding, unwinder=name), {name: unwinder}, programs)
        if shown.missing or shown.problem:
            missing[version.version] = shown.missing or shown.problem
        else:
            shows[version.version] = shown.shows
    order = [each.version for each in of_tool(referee.name) if each.version in shows]
    seen, gone = (tuple(each for each in order if shows[each] is it) for it in (True, False))
    return replace(finding, seen_in=seen, not_in=gone), missing


def command_of(finding: Finding, *, before: bool = False) -> str:
    """The command that shows it to a stranger; with ``before``, the whole run, since the place alone does not."""
    parts = ["testbed", "run", finding.program, "--arch", finding.arch, "--recipe", finding.recipe]
    parts += ["--differences"] if before else ["--at", finding.at]
    return shlex.join([*parts, "-u", finding.unwinder])


def version_of(tool: str) -> str:
    """What a tool says that it is, without the places where its files lie, and nothing twice."""
    return "; ".join(dict.fromkeys(_PLACE.sub("", part) for part in tool.split("; ")))


def _words(run: Run, step: int, said: Backtrace) -> str:
    """The frames by name, beside the true ones: ``[gap]``, ``≠false``, repeats folded; and how the stack ends."""
    end = "root" if said.stopped is None else f"{said.stopped.reason}: {said.stopped}"
    return " < ".join(name for _, name in told(run, step, said)) + f" ({end})"
