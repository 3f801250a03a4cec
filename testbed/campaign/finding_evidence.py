"""Why one can be sure of a finding: what was executed, a second method that says the same, other tools that are right.

For a report to people who know nothing of the testbed. A true caller is one to which control came back: that is a fact
about the run, which anybody can repeat in an emulator or under a debugger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from testbed.campaign.findings import BUDGET, SEED, Reproduction, version_of
from testbed.campaign.prove import differing
from testbed.contract.unwinder import Unwinder
from testbed.runs.by_name import Programs, named_run
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.witness import attest


@dataclass(frozen=True, slots=True)
class FrameEvidence:
    """One true frame: where it goes on, the step that entered it (None: it is the start), the step that came back.

    ``entered_by`` is the instruction of that step. ``came_back`` is None for the innermost frame, and for one to which
    control does not come back before the run ends.
    """

    name: str
    pc: int
    entered: int | None
    entered_by: str
    came_back: int | None


@dataclass(frozen=True, slots=True)
class OtherTool:
    """What another strategy, or tool, says at the same instruction."""

    name: str
    tool: str
    outcome: str


@dataclass(frozen=True, slots=True)
class BackedFinding:
    """A finding made anew, and what backs it. ``second_witness`` says whether the second method has the same frames."""

    shown: Reproduction
    run: Run = field(repr=False)
    step: int
    frames: tuple[FrameEvidence, ...]
    second_witness: bool
    others: tuple[OtherTool, ...]


def evidence_for(shown: Reproduction, unwinders: Mapping[str, Unwinder], programs: Programs) -> BackedFinding:
    """Run the finding's program again and collect what backs it. Raises what building and running raise."""
    finding = shown.finding
    run = named_run(programs, finding.program, finding.arch, finding.recipe, seed=SEED, budget=BUDGET, fresh=False)
    step = run.step_at(finding.at)
    return BackedFinding(
        shown,
        run,
        step,
        tuple(_frame(run, step, number) for number in range(len(run.truth(step).frames))),
        not bool(differing(run.watched, attest(run.trace))[step]),
        tuple(_others(run, step, finding.unwinder, unwinders)),
    )


def _frame(run: Run, step: int, number: int) -> FrameEvidence:
    frame = run.truth(step).frames[number]
    opened = run.watched.activations[frame.activation].opened
    entered = opened - 1 if opened else None
    back = None
    if number:
        pcs, node = run.trace.pc[step + 1 :], run.watched.node[step + 1 :]
        wanted = frame.pc if frame.goes_on is None else frame.goes_on
        there = np.flatnonzero((pcs == np.uint64(wanted)) & (node == frame.activation))
        back = step + 1 + int(there[0]) if len(there) else None
    by = "" if entered is None else f"{run.where(int(run.trace.pc[entered]))}: {run.instruction(entered)}"
    return FrameEvidence(run.frame_names((frame,))[0], frame.pc, entered, by, back)


def _others(run: Run, step: int, name: str, unwinders: Mapping[str, Unwinder]) -> list[OtherTool]:
    found = []
    for other in unwinders.values():
        if other.name != name and other.applies_to(run.built.image):
            verdict = judge(run, step, other.unwind(run[step]), other)
            tool = version_of(other.tool()) if other.tool else "a strategy of the testbed"
            found.append(OtherTool(other.name, tool, verdict.outcome.value))
    return found
