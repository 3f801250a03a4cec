"""A finding as a folder that a maintainer can use who has never heard of the testbed.

::

    report.md        what was seen, what is true and why, how to see it
    program          the program file; program.<format>: another one that belongs to it
    source/          what it was built from
    snapshot.core    the process at that instruction, as an ELF core (or .mcore, a Mach-O core)
    snapshot.dmp     the same as a minidump
    snapshot.json    the same as text: registers, memory, mapped files
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.text import Text

from testbed.campaign.finding_evidence import BackedFinding
from testbed.campaign.findings import Reproduction
from testbed.export.write import FORMATS
from testbed.report.page import render_page
from testbed.words.distribution import DISTRIBUTION
from testbed.words.errors import UsageError

_AROUND = 6  # instructions shown before the one in question
_EMULATOR = ("unicorn", "capstone")


def write_report(evidence: BackedFinding, folder: Path) -> tuple[Path, ...]:
    """Write the folder; its files. Raises UsageError where it is not empty or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: a report gets a folder of its own")
        files = dict(_files(evidence))
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    return tuple(folder / name for name in files)


def _files(evidence: BackedFinding) -> Iterator[tuple[str, bytes]]:
    run = evidence.run
    snapshot = run[evidence.step]
    yield "report.md", report(evidence).encode("utf-8") + b"\n"
    yield "program", run.built.image.content or run.built.path.read_bytes()
    for loaded in run.trace.images[1:]:
        yield f"program.{loaded.image.path.name}", loaded.image.content
    source = run.built.source
    yield f"source/{source.path.name}", source.text.encode("utf-8")
    for fragment in source.fragments:
        yield f"source/{fragment.name}", fragment.text.encode("utf-8")
    if evidence.shown.referee.own_file is not None:
        name, make = evidence.shown.referee.own_file
        yield name, make(snapshot)
    for name in (_core(evidence), "minidump", "json"):
        yield f"snapshot{FORMATS[name].suffix}", FORMATS[name].encode(snapshot)


def report(evidence: BackedFinding) -> str:
    """report.md."""
    run, step = evidence.run, evidence.step
    return render_page(
        "finding.md",
        evidence=evidence,
        shown=evidence.shown,
        run=run,
        pc=int(run.trace.pc[step]),
        steps=[(each, int(run.trace.pc[each])) for each in range(max(0, step - _AROUND), step + 1)],
        elf=_is_elf(evidence),
        core=FORMATS[_core(evidence)].suffix,
        emulator=", ".join(f"{name} {_version(name)}" for name in _EMULATOR),
        version=_version(DISTRIBUTION),
        python=platform.python_version(),
    )


def _core(evidence: BackedFinding) -> str:
    return "core" if _is_elf(evidence) else "macho-core"


def _is_elf(evidence: BackedFinding) -> bool:
    return evidence.run.built.image.content[:4] == b"\x7fELF"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"


# Findings against real tools, for the terminal.


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in (*mistakes(shown), *of_techniques(shown), *repaired(shown)):
        limit = "  (what the technique cannot know)" if each.finding.of_technique else ""
        console.print(Text(each.finding.title, style="bold") + Text(limit))
        console.print(Text(f"  {each.command}"))
        for name, text in facts(each):
            console.print(Text(f"  {name}: {text}"))
        console.print(Text(f"  {state_of(each)}", style="" if each.shows else "bold"))
        console.print()
    showing, missing = sum(each.shows for each in shown), sum(bool(each.missing) for each in shown)
    gone = len(repaired(shown))
    console.print(
        f"{len(shown)} findings: {showing} show, {len(shown) - showing - missing - gone} do not, "
        + (f"{gone} repaired, " if gone else "")
        + f"{missing} not tried"
    )


def mistakes(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What a tool gets wrong."""
    return [each for each in shown if not each.finding.of_technique and not each.repaired]


def of_techniques(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What no tool of its technique can know."""
    return [each for each in shown if each.finding.of_technique and not each.repaired]


def repaired(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What older versions show, and the one that was asked does not."""
    return [each for each in shown if each.repaired]


def facts(each: Reproduction) -> Iterator[tuple[str, str]]:
    """What is told of a finding, each by its noun."""
    finding = each.finding
    if each.verdict is not None:
        yield "at", f"{each.where} ({each.instruction}), {finding.program} on {finding.arch} by {finding.recipe}"
        yield "says", each.said
        yield "true", each.truth
        difference = f": {each.verdict.difference}" if each.verdict.difference else ""
        yield "which is", f"{each.verdict.outcome.value}{difference}"
    yield "because", finding.because
    yield "upstream", finding.upstream or "no report was found"
    yield "first seen", f"{finding.since}, with {finding.tool}"
    if finding.versions:
        yield "versions", finding.versions
    yield "id", finding.id


def state_of(each: Reproduction) -> str:
    """Whether it shows today."""
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    if each.shows:
        return f"shows with {each.tool}"
    return f"repaired: does not show with {each.tool}" if each.repaired else f"DOES NOT SHOW any more with {each.tool}"
