"""A check on the terminal: what is wrong and where, how much was tried, and one sentence as the last line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.checks.model import FileCheck, Severity, TableFinding
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import (
    answer,
    evidence_words,
    file_name,
    instruction,
    listed,
    place,
    plain,
    repair_words,
    sentence,
    tried_words,
    wrong_things,
)
from testbed.report.phrases import count, share

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold"}
_INDENT = "    "
_KNOWN = ("finding", "known from the baseline")
_QUIET = ("note", "of code that nobody calls, where a program or a thread begins, and that has no row")
_NARROW = 90  # columns; in fewer, what is said of a function takes two lines
# The parts that the instructions of a file are divided into, and what each is called.
_PARTS = (
    ("executed", "executed"),
    ("forced", "on forced paths only"),
    ("static", "tried statically"),
    ("never", "never reached"),
)


def print_check(console: Console, report: CheckReport, *, coverage: bool = False, notes: bool = False) -> None:
    """Print a report; ``coverage`` adds a line per function, ``notes`` lists what is only counted otherwise."""
    for file in report.files:
        _print_file(console, file, coverage=coverage, notes=notes)
        if len(report.files) > 1:
            _print_answer(console, answer(file_name(file.check), [file.check]))
            console.print()
    for broken in report.broken:
        _print(console, f"{plain(str(broken.path))}: could not be checked", style="bold red")
        for line in broken.reason.splitlines():
            _print(console, plain(line), indent=_INDENT)
    if report.gone:
        _print(console, f"no longer found, and still in {plain(str(report.baseline))}:", style="bold")
        for gone in report.gone:
            _print(console, plain(gone), indent=_INDENT)
    _print_answer(console, report.answer)


def _print_answer(console: Console, text: str) -> None:
    """One line, however long: `tail -1` gives the whole answer."""
    console.print(Text(text, style="bold"), soft_wrap=True)


def _print(console: Console, text: str, *, style: str = "", indent: str = "") -> None:
    """Text in the width of the console; what cannot be broken between words is left whole, for a click or a search."""
    lines = textwrap.wrap(
        text,
        max(console.width - 1, 20),
        initial_indent=indent,
        subsequent_indent=indent + "  " * bool(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def _print_file(console: Console, file: ReportedFile, *, coverage: bool, notes: bool) -> None:
    check = file.check
    tables = listed(list(map(plain, check.tables))) or "no table that can be checked"
    kept = " (kept from an earlier check)" if check.kept else ""
    _print(console, f"{plain(str(check.path))}: {check.arch}, {tables}{kept}", style="bold")
    console.print()
    shown = [r for r in file.findings if not r.known and r.finding.severity is not Severity.NOTE]
    for reported in shown:
        _print_finding(console, reported)
    _print_rest(console, [r for r in file.findings if r.known], _KNOWN, notes)
    _print_rest(
        console, [r for r in file.findings if not r.known and r.finding.severity is Severity.NOTE], _QUIET, notes
    )
    for note in check.notes:
        _print(console, f"note: {plain(note)}")
    if check.notes or len(file.findings) > len(shown):
        console.print()
    if coverage:
        _print_functions(console, check)
    _print_coverage(console, check)
    console.print()


def _print_finding(console: Console, reported: ReportedFinding) -> None:
    finding = reported.finding
    head = Text.assemble(place(finding), ": ", (finding.severity.value, _STYLES[finding.severity]), ": ")
    # Without a file and a line, the place in the function is told already.
    head.append(", ".join(filter(None, (_at(finding), plain(finding.table)))))
    console.print(head, soft_wrap=True)
    for thing in wrong_things(finding):
        _print(console, thing, indent=_INDENT)
    if repair := repair_words(finding):
        _print(console, f"{repair} ({tried_words(finding)})", indent=_INDENT)
    _print(console, evidence_words(finding), indent=_INDENT, style="dim")
    console.print()


def _at(finding: TableFinding) -> str:
    return instruction(finding) if finding.source else plain(finding.instruction)


def _print_rest(console: Console, rest: Sequence[ReportedFinding], what: tuple[str, str], listing: bool) -> None:
    """Findings that fail nothing: how many, and each in one sentence where that is asked for."""
    if not rest:
        return
    noun, which = what
    _print(console, f"{count(len(rest), noun)} {which}" + (":" if listing else " (--notes lists them)"))
    for reported in rest if listing else ():
        finding = reported.finding
        at = f"{place(finding)}: " if finding.source else ""
        _print(console, f"{at}{sentence(finding)}", indent=_INDENT)


def _print_coverage(console: Console, check: FileCheck) -> None:
    """How much was tried, part by part."""
    instructions = check.total("instructions")
    called = sum(function.calls > 0 for function in check.functions)
    rows: list[tuple[str, int, str]] = [
        ("functions", len(check.functions), ""),
        ("  called", called, share(called, len(check.functions))),
        ("instructions", instructions, ""),
        *((f"  {name}", check.total(part), share(check.total(part), instructions)) for part, name in _PARTS),
    ]
    if without := check.total("without_row"):
        rows.append(("  of all, without a row", without, share(without, instructions)))
    if thrown := sum(check.dropped.values()):
        rows.append(("forced paths thrown away", thrown, ""))
        rows += [(f"  {plain(reason)}", number, "") for reason, number in check.dropped.items()]
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, number, part in rows:
        table.add_row(Text(name), f"{number:,}", part)
    console.print(table)


def _print_functions(console: Console, check: FileCheck) -> None:
    """For each function what share of it was tried, what was not, how often it was called."""
    if console.width < _NARROW:
        for *numbers, name in _function_rows(check):
            _print(console, name)
            of = (f"{number} {head}" for head, number in zip(_HEADS, numbers, strict=True))
            _print(console, ", ".join(of), indent=_INDENT, style="dim")
    else:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
        for head in _HEADS:
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("function", overflow="fold")
        for cells in _function_rows(check):
            table.add_row(*map(Text, cells))
        console.print(table)
    console.print()


_HEADS = ("tried", "instructions", "forced", "static", "never", "no row", "calls")


def _function_rows(check: FileCheck) -> Iterator[tuple[str, ...]]:
    for f in check.functions:
        numbers = (f.instructions, f.forced, f.static, f.never, f.without_row, f.calls)
        name = f"{plain(f.name)}: {plain(f.note)}" if f.note else plain(f.name)
        yield share(f.instructions - f.never, f.instructions), *(f"{n:,}" for n in numbers), name
