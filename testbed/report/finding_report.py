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

from testbed.campaign.finding_evidence import BackedFinding, FrameEvidence
from testbed.campaign.findings import Reproduction
from testbed.export.write import FORMATS
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
    yield "report.md", "\n".join(report(evidence)).encode("utf-8") + b"\n"
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
    core = "core" if _is_elf(evidence) else "macho-core"
    for name in (core, "minidump", "json"):
        yield f"snapshot{FORMATS[name].suffix}", FORMATS[name].encode(snapshot)


def report(evidence: BackedFinding) -> Iterator[str]:
    """report.md, line by line."""
    shown = evidence.shown
    yield f"# {shown.finding.title}\n"
    yield (
        "This folder was written by testbed. It runs small programs in an emulator, stops them at every instruction, "
        "asks unwinders for the call stack, and compares that with what was recorded. To look at what is here you need "
        "none of it.\n"
    )
    yield from _what_happens(evidence)
    yield from _what_is_here(evidence)
    yield from _how_to_see(evidence)
    yield from _why_sure(evidence)
    yield from _versions(evidence)


def _what_happens(evidence: BackedFinding) -> Iterator[str]:
    shown, run = evidence.shown, evidence.run
    writes_tables = not shown.referee.unwinders
    yield (
        f"The process in this folder is stopped at `{shown.where}` (address {int(run.trace.pc[evidence.step]):#x}, "
        f"`{shown.instruction}`, not executed yet), on {run.arch.name}. Its call stack, innermost first:\n"
    )
    who = "what the table says" if writes_tables else f"what {shown.tool} says"
    yield f"| | |\n|---|---|\n| true | `{shown.truth}` |\n| {who} | `{shown.said}` |\n"
    if any(mark in shown.said for mark in "[≠×"):
        yield "`[name]`: a true caller that is missing. `≠`: a frame that never was. `×`: as often as that.\n"
    outcome = shown.verdict.outcome if shown.verdict else None
    if outcome is not None and shown.verdict is not None:
        difference = f": {shown.verdict.difference}" if shown.verdict.difference else ""
        yield f"In a word, `{outcome.value}` ({outcome.meaning}){difference}. Frame 0 is the innermost one.\n"
    source = f" ({shown.finding.reference})" if shown.finding.reference else ""
    yield f"The likely cause: {shown.finding.because}{source}.\n"
    if shown.finding.upstream:
        yield f"This seems to be {shown.finding.upstream}.\n"
    else:
        yield "No report of it was found.\n"
    if shown.finding.of_technique:
        yield "It is a limit of the technique rather than a mistake: no tool can know better from what it looks at.\n"
    yield "The instructions up to there, as they were executed:\n\n```"
    for step in range(max(0, evidence.step - _AROUND), evidence.step + 1):
        mark = "->" if step == evidence.step else "  "
        pc = int(run.trace.pc[step])
        yield f"{mark} {pc:#x} {run.where(pc):<20} {run.instruction(step)}"
    yield "```\n"


def _what_is_here(evidence: BackedFinding) -> Iterator[str]:
    """The files, each with what it is for."""
    core = FORMATS["core" if _is_elf(evidence) else "macho-core"].suffix
    yield "## What is in this folder\n\n| | |\n|---|---|"
    yield "| `program` | the program file, with its unwind tables |"
    for loaded in evidence.run.trace.images[1:]:
        yield f"| `program.{loaded.image.path.name}` | another file that is mapped |"
    yield "| `source/` | what it was built from; its head is in the words of testbed |"
    if evidence.shown.referee.own_file is not None:
        yield f"| `{evidence.shown.referee.own_file[0]}` | the stopped process, in the tool's own format |"
    yield f"| `snapshot{core}`, `snapshot.dmp`, `snapshot.json` | the same as a core, as a minidump, and as text |"
    if _is_elf(evidence):
        yield (
            "\n`gdb program snapshot.core` shows the machine (gdb-multiarch: of any processor). That the core may not "
            "match is no matter: the files have other names here."
        )
    yield ""


def _how_to_see(evidence: BackedFinding) -> Iterator[str]:
    shown = evidence.shown
    yield "## How to see it\n"
    if shown.referee.by_hand:
        yield f"Without the testbed, in this folder:\n\n```\n{shown.referee.by_hand}\n```\n"
        if "snapshot.core" in shown.referee.by_hand:
            yield (
                "(`snapshot.core` names the program file where it lay on the machine that wrote it; the command names "
                "the copy here.)\n"
            )
    else:
        yield (
            "The tool is asked here as a library, with the registers and the memory that are in `snapshot.json` and in "
            "`snapshot.core`, and with the program file: `testbed/referee` in the testbed's sources has the code that "
            "does it, a few hundred lines.\n"
        )
    yield f"With the testbed:\n\n```\n{shown.command}\n```\n"
    if "--differences" in shown.command:
        yield (
            "The place alone is answered rightly: the tool remembers something of earlier questions. The command asks "
            "at every instruction of the run, in order.\n"
        )
    if _is_elf(evidence):
        yield "The unwind tables of the file: `readelf --debug-dump=frames-interp program` (and `readelf -u` on ARM).\n"


def _why_sure(evidence: BackedFinding) -> Iterator[str]:
    run = evidence.run
    yield "## Why the first line of the table is the truth\n"
    yield (
        "The program was executed in an emulator from its first instruction to its last, and every instruction, "
        "register and memory write was recorded. A function's caller is where control goes on when the function is "
        "over; so for each frame the recording says which instruction entered it and when control came back to it. No "
        "unwind table and no disassembly is used for that. (Steps are instructions since the start; the process is at "
        f"step {evidence.step} of {len(run)}.)\n"
    )
    yield "| frame | goes on at | was entered by | control came back |\n|---|---|---|---|"
    for number, frame in enumerate(evidence.frames):
        yield f"| {number} `{frame.name}` | {frame.pc:#x} | {_entered(frame)} | {_back(frame, number)} |"
    if evidence.second_witness:
        yield (
            "\nA second method, which shares no code with the first, follows each return address as a value through "
            "registers and memory; it finds the same frames at this instruction."
        )
    right = [each for each in evidence.others if each.outcome == "exact"]
    if right:
        yield "\nThese say the same stack at the same instruction:\n"
        for each in right:
            yield f"- {each.name} ({each.tool})"
    wrong = [each for each in evidence.others if each.outcome != "exact"]
    if wrong:
        yield "\nThese do not, for reasons of their own or the same one:\n"
        for each in wrong:
            yield f"- {each.name} ({each.tool}): {each.outcome}"
    yield ""


def _versions(evidence: BackedFinding) -> Iterator[str]:
    shown, run = evidence.shown, evidence.run
    yield "## Versions\n"
    yield f"- the tool: {shown.tool or shown.finding.tool}; first seen {shown.finding.since} with {shown.finding.tool}"
    built = f"built by its recipe `{run.recipe.name}`: {run.built.tools}"
    yield f"- the program: `{run.program.name}` of the testbed's corpus, {built}"
    emulator = ", ".join(f"{name} {_version(name)}" for name in _EMULATOR)
    yield f"- the testbed: {_version(DISTRIBUTION)}, {emulator}, Python {platform.python_version()}"


def _entered(frame: FrameEvidence) -> str:
    return "the start of the process" if frame.entered is None else f"step {frame.entered}, `{frame.entered_by}`"


def _back(frame: FrameEvidence, number: int) -> str:
    if not number:
        return "it is executing"
    return "not before the program ends" if frame.came_back is None else f"step {frame.came_back}"


def _is_elf(evidence: BackedFinding) -> bool:
    return evidence.run.built.image.content[:4] == b"\x7fELF"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"


# Findings against real tools, for the terminal and as FINDINGS.md.

_HEAD = """# Findings

What real unwinders, and the tools that write tables, were seen to do wrong in this testbed: each with the smallest
program of the corpus that shows it, and the one command that does. Written by `docs/regenerate.py` from `testbed
findings`, which tries all of them again; nothing here was typed by hand. `testbed findings --check` fails where one
no longer shows. `testbed findings --report ID DIR` writes one as a bug report, with its files.

What a tool says stands beside the truth: `[name]` is a true caller that it lacks, `≠name` a frame that never was, `×`
how often one repeats.

Behind them stands a list of its own: what shows the limit of a technique, such as code without a table.
"""
_OF_TECHNIQUES = """# What a technique cannot know

Wrong answers, too, and by tools that people use; but what these tools look at does not say what is true. They are no
mistakes to report.
"""


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in (*_mistakes(shown), *_of_techniques(shown)):
        limit = "  (what the technique cannot know)" if each.finding.of_technique else ""
        console.print(Text(each.finding.title, style="bold") + Text(limit))
        console.print(Text(f"  {each.command}"))
        for name, text in _facts(each):
            console.print(Text(f"  {name}: {text}"))
        console.print(Text(f"  {_state(each)}", style="" if each.shows else "bold"))
        console.print()
    showing, missing = sum(each.shows for each in shown), sum(bool(each.missing) for each in shown)
    console.print(
        f"{len(shown)} findings: {showing} show, {len(shown) - showing - missing} do not, {missing} not tried"
    )


def findings_markdown(shown: Sequence[Reproduction]) -> str:
    """FINDINGS.md."""
    parts = [_HEAD, *_by_tool(_mistakes(shown))]
    if limits := _of_techniques(shown):
        parts += [_OF_TECHNIQUES, *_by_tool(limits)]
    return "\n".join(parts)


def _mistakes(shown: Sequence[Reproduction]) -> list[Reproduction]:
    return [each for each in shown if not each.finding.of_technique]


def _of_techniques(shown: Sequence[Reproduction]) -> list[Reproduction]:
    return [each for each in shown if each.finding.of_technique]


def _by_tool(shown: Sequence[Reproduction]) -> Iterator[str]:
    for tool in dict.fromkeys(each.referee.name for each in shown):
        mine = [each for each in shown if each.referee.name == tool]
        yield f"## {tool}\n\n*{mine[0].referee.summary}*\n"
        yield from ("\n".join(_section(each)) for each in mine)


def _section(each: Reproduction) -> Iterator[str]:
    yield f"### {each.finding.title}\n"
    yield f"```\n{each.command}\n```\n"
    for name, text in _facts(each):
        quoted = f"`{text}`" if name in ("says", "true") else text
        yield f"- {name}: {quoted}"
    yield f"- {_state(each)}\n"


def _facts(each: Reproduction) -> Iterator[tuple[str, str]]:
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
    yield "id", finding.id


def _state(each: Reproduction) -> str:
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    return f"shows with {each.tool}" if each.shows else f"DOES NOT SHOW any more with {each.tool}"
