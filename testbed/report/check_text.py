"""A check on the terminal: what is wrong and where, how much was tried, and one sentence as the last line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from testbed.checks.model import FileCheck, FindingKind, Severity, TableFinding
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import (
    NAMES,
    answer,
    beside,
    consequence_words,
    evidence_words,
    file_name,
    instruction,
    listed,
    more_words,
    no_patch_words,
    of_a_whole_table,
    place,
    repair_words,
    sentence,
    stacks,
    summary_line,
    tried_words,
    wrong_things,
)
from testbed.report.phrases import count, share
from testbed.words.outcome import Outcome
from testbed.words.printable import printable

if TYPE_CHECKING:  # each loads what judges, of which a check of tables needs nothing here
    from testbed.checks.judged_calls import CalledLie, CalledVerdicts
    from testbed.checks.watched_run import TableLint

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold"}
_INDENT = "    "
_KNOWN = ("finding", "known from the baseline")
_QUIET = {
    FindingKind.START_WITHOUT_ROW: "of code that nobody calls, where a program or a thread begins, and that has no row",
    FindingKind.OTHER_ENTRY: "of a function whose rows suppose that it is not entered by a call",
    FindingKind.WRONG_ROW: "of registers that a contract of a function's own loses, and each caller has saved",
    FindingKind.NO_ROW: "of code that has no row, and that nothing calls from code that has rows",
    FindingKind.CANNOT_UNWIND: "of code that is marked as one that cannot be unwound",
    FindingKind.HALF_CFA: "of an offset or a register that is given to a CFA without the other",
    FindingKind.NO_EPILOGUE_ROWS: "of a compiler that writes no rows for epilogues on this architecture",
}
_NARROW = 90  # columns; in fewer, what is said of a function takes two lines
_BLOCK = 256  # lines that are printed at once: rich takes a millisecond for each call
# The parts that the instructions of a file are divided into, and what each is called.
_PARTS = (
    ("executed", "executed"),
    ("forced", "on forced paths only"),
    ("static", "only read"),
    ("never", "undecided"),
)


def print_check(console: Console, report: CheckReport, *, coverage: bool = False, notes: bool = False) -> None:
    """Print a report; ``coverage`` adds a line per function, ``notes`` lists what is only counted otherwise."""
    lines = iter(_lines(report, max(console.width - 1, 20), coverage=coverage, notes=notes))
    while block := list(islice(lines, _BLOCK)):
        console.print(Text("\n").join(block), soft_wrap=True)


def _lines(report: CheckReport, width: int, *, coverage: bool, notes: bool) -> Iterator[Text]:
    for file in report.files:
        yield from _of_a_file(file, width, report.relative_to, coverage=coverage, notes=notes)
        if len(report.files) > 1:
            yield Text(answer(file_name(file.check), [file.check]), style="bold")
            yield Text()
    for broken in report.broken:
        yield from _wrapped(f"{printable(broken.what)}: could not be checked", width, style="bold red")
        for line in broken.reason.splitlines():
            yield from _wrapped(printable(line), width, indent=_INDENT)
    if report.gone:
        yield from _wrapped(f"no longer found, and still in {printable(str(report.baseline))}:", width, style="bold")
        for gone in report.gone:
            yield from _wrapped(printable(gone), width, indent=_INDENT)
    yield Text(report.answer, style="bold")  # one line, however long: `tail -1` gives all of it


def _wrapped(text: str, width: int, *, style: str = "", indent: str = "") -> Iterator[Text]:
    """Text in lines; what cannot be broken between words is left whole, for a click or a search."""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  " * bool(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (Text(line, style=style) for line in lines)


def _of_a_file(file: ReportedFile, width: int, base: Path | None, *, coverage: bool, notes: bool) -> Iterator[Text]:
    check = file.check
    tables = listed(list(map(printable, check.tables))) or "no unwind table"
    kept = " (kept from an earlier check)" if check.kept else ""
    yield from _wrapped(f"{printable(str(check.path))}: {check.arch}, {tables}{kept}", width, style="bold")
    yield Text()
    known = [r for r in file.findings if r.known]
    quiet = [r for r in file.findings if not r.known and r.finding.severity is Severity.NOTE]
    for reported in file.findings:
        if not reported.known and reported.finding.severity is not Severity.NOTE:
            yield from _of_a_finding(reported.finding, width, base, notes=notes)
            yield Text()
    yield from _of_the_rest(known, _KNOWN, width, base, notes)
    for kind, what in _QUIET.items():
        of_kind = [each for each in quiet if each.finding.kind is kind]
        yield from _of_the_rest(of_kind, ("note", what), width, base, notes)
    for note in (*map("judged: {}".format, check.conventions), *check.notes):
        yield from _wrapped(f"note: {printable(note)}", width)
    if known or quiet or check.notes or check.conventions:
        yield Text()
    if coverage:
        yield from _of_functions(check, width)
        yield Text()
    yield from _of_coverage(check)
    yield Text()


def _of_a_finding(finding: TableFinding, width: int, base: Path | None, *, notes: bool) -> Iterator[Text]:
    # Without a file and a line, the place in the function is told already.
    at = instruction(finding) if finding.source else printable(finding.instruction)
    at = ", ".join(filter(None, (at, beside(finding, base))))
    table = "" if of_a_whole_table(finding) else printable(finding.table)
    where, what = ", ".join(filter(None, (at, table))) or "the whole table", consequence_words(finding)
    weight = finding.severity.value
    begins = f"{place(finding, base)}: {weight}"
    for number, line in enumerate(_wrapped(f"{begins}: {what or where}", width)):
        if number == 0:
            line.stylize(_STYLES[finding.severity], len(begins) - len(weight), len(begins))
        yield line
    if what:
        yield from _wrapped(where, width, indent=_INDENT)
    for thing in wrong_things(finding, most=0 if notes else NAMES):
        yield from _wrapped(thing, width, indent=_INDENT)
    told = stacks(finding)
    wide = max((len(name) for name, _ in told), default=0)
    for name, stack in told:
        yield from _wrapped(f"{name}{' ' * (wide - len(name))}  {stack}", width, indent=_INDENT)
    if repair := repair_words(finding, base):
        yield from _wrapped(f"{repair} ({tried_words(finding)})", width, indent=_INDENT)
    yield from _wrapped(no_patch_words(finding), width, indent=_INDENT)
    yield from _wrapped(evidence_words(finding), width, indent=_INDENT, style="dim")


def _of_the_rest(
    rest: Sequence[ReportedFinding], what: tuple[str, str], width: int, base: Path | None, listing: bool
) -> Iterator[Text]:
    """Findings that fail nothing: how many, and each in one sentence where that is asked for."""
    if not rest:
        return
    noun, which = what
    yield from _wrapped(f"{count(len(rest), noun)} {which}" + (":" if listing else " (--notes lists them)"), width)
    for reported in rest if listing else ():
        finding = reported.finding
        at = f"{place(finding, base)}: " if finding.source else ""
        yield from _wrapped(f"{at}{sentence(finding, base)}", width, indent=_INDENT)


def _of_coverage(check: FileCheck) -> Iterator[Text]:
    """How much was tried, part by part."""
    instructions = check.total("instructions")
    called = sum(function.calls > 0 for function in check.functions)
    rows: list[tuple[str, int, str]] = [
        ("functions", len(check.functions), ""),
        ("  called", called, share(called, len(check.functions))),
        *_of_parts(check),
        ("instructions", instructions, ""),
        *(
            (f"  {name}", number, share(number, instructions))
            for part, name in _PARTS
            if (number := check.total(part)) or part in ("executed", "never")
        ),
    ]
    if without := check.total("without_row"):
        rows.append(("  of all, without a row", without, share(without, instructions)))
    if lacked := check.total("lacked"):
        rows.append(("  of all, passed over: the emulator lacks them", lacked, share(lacked, instructions)))
    if thrown := sum(check.dropped.values()):
        rows.append(("forced paths thrown away", thrown, ""))
        rows += [(f"  {printable(reason)}", number, "") for reason, number in check.dropped.items()]
    return _columns([(f"{number:,}", part, name) for name, number, part in rows])


def _of_parts(check: FileCheck) -> Iterator[tuple[str, int, str]]:
    """Code that is not called: all of it, and what no path of a function executed either."""
    if parts := len(check.parts):
        left = sum(part.never == part.instructions for part in check.parts)
        yield "places that are not called", parts, ""
        yield "  not compared", left, share(left, parts)


def _of_functions(check: FileCheck, width: int) -> Iterator[Text]:
    """For each function what share of it was tried, what was not, how often it was called."""
    if width >= _NARROW:
        yield from _columns([(*_HEADS, "function"), *_function_rows(check)])
        return
    for *numbers, name in _function_rows(check):
        yield from _wrapped(name, width)
        of = (f"{number} {head}" for head, number in zip(_HEADS, numbers, strict=True))
        yield from _wrapped(", ".join(of), width, indent=_INDENT, style="dim")


_HEADS = ("executed", "instructions", "forced", "read", "neither", "no row", "calls")


def _function_rows(check: FileCheck) -> Iterator[tuple[str, ...]]:
    for f in check.pieces:
        numbers = (f.instructions, f.forced, f.static, f.never, f.without_row, f.calls)
        name = f"{printable(f.name)}: {printable(f.note)}" if f.note else printable(f.name)
        yield share(f.ran, f.instructions), *(f"{n:,}" for n in numbers), name


def _columns(rows: Iterable[Sequence[str]]) -> Iterator[Text]:
    """Rows of numbers, each column as wide as its widest, and behind them a name, however long."""
    listed_rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed_rows, strict=True)][:-1]
    for *numbers, name in listed_rows:
        yield Text("  ".join([*(n.rjust(width) for n, width in zip(numbers, widths, strict=True)), name]))


# What ``testbed check --executed`` prints: a line per finding, and per table how much of the run it was held against.


def finding_line(finding: TableFinding) -> str:
    """``work+0xb (ret): the row says CFA = rsp+0x10, ...: add `.cfi_def_cfa_offset 0x8` before it``."""
    at = f"{place(finding)}: " if finding.source else ""
    where = f"{instruction(finding)}: " if finding.where else ""
    fix = f": {repair}" if (repair := repair_words(finding)) else ""
    known = "; ".join(filter(None, (tried_words(finding), more_words(finding))))
    return f"{at}{where}{'; '.join(wrong_things(finding))}{fix}" + (f" ({known})" if known else "")


def table_lines(said: TableLint) -> list[str]:
    """All that is said of one table; notes, which fail nothing, are marked."""
    marks = {Severity.NOTE: "note: "}
    lines = [printable(f"{said.unwinder}: {marks.get(f.severity, '')}{finding_line(f)}") for f in said.findings]
    return [*lines, f"{said.unwinder}: {summary_line(said)}"]


# Unwinders at the instructions of functions that were called alone: as text, and as data for JSON.

_MOST = 10  # functions of one unwinder that are shown


def called_text(path: Path, verdicts: Sequence[CalledVerdicts]) -> Iterator[str]:
    """The lines on one file: a row for each unwinder, then where each lies first in each function."""
    judged = max(counted.sites for counted in verdicts)
    yield f"{printable(str(path))}: {count(judged, 'instruction')} executed, each judged once"
    yield ""
    wide = max(8, *(len(counted.unwinder) for counted in verdicts))
    heads: dict[str, Callable[[CalledVerdicts], int]] = {
        "stops": lambda counted: counted.stops,
        "lies": lambda counted: counted.lying,
        "crashes, hangs": lambda counted: counted.dead,
        "unexplained": lambda counted: counted.unexcused,
    }
    if not any(counted.unforetold for counted in verdicts):
        del heads["unexplained"]
    yield f"{'unwinder':{wide}}   exact      of all" + "".join(f"  {head:>7}" for head in heads)
    for counted in verdicts:
        right = counted.exact + counted.whole
        numbers = "".join(f"  {of(counted):>{max(7, len(head))},}" for head, of in heads.items())
        yield f"{printable(counted.unwinder):{wide}} {right:>7,} {share(right, counted.judged):>11}{numbers}"
    for counted in verdicts:
        lies = sorted(counted.lies.values(), key=lambda lie: (bool(lie.explained), lie.address))
        for lie in lies[:_MOST]:
            yield ""
            yield from _of_a_lie(counted.unwinder, lie)
        if len(lies) > _MOST:
            yield f"    and in {count(len(lies) - _MOST, 'more function')}: --format json has all of them"
    yield ""
    for counted in verdicts:
        yield _unwinder_sentence(counted)
    yield ""


def _unwinder_sentence(counted: CalledVerdicts) -> str:
    """How one fares, in a sentence: ``mine lies at 3 of 14 instructions, in 1 function.``"""
    of = count(counted.judged, "instruction")
    right = counted.exact + counted.whole
    how_many = "all" if right == counted.judged else f"{right:,} of" if right else "none of"
    said = [f"is right at {how_many} {of}"]
    said += [f"stops honestly at {counted.stops:,}"] * bool(counted.stops)
    said += [f"crashes or hangs at {counted.dead:,}"] * bool(counted.dead)
    said += [f"lies at {counted.lying:,}, in {count(len(counted.lies), 'function')}"] * bool(counted.lying)
    return f"{printable(counted.unwinder)} {', '.join(said)}."


def _of_a_lie(unwinder: str, lie: CalledLie) -> Iterator[str]:
    how = ", on a forced path" if lie.forced else ""
    root = " and claims the root" * (lie.outcome == Outcome.ENDED_EARLY.value)
    yield f"{printable(lie.where)}: {printable(unwinder)}: {lie.outcome.replace('_', ' ')}{how}"
    yield f"    says {printable(lie.said)}{root}"
    yield f"    true {printable(lie.true)}"
    yield f"    {printable(lie.explained or lie.difference)}"
