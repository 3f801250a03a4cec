"""A check as one self-contained page: the answer, findings that open at the instruction, a bar for each function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from testbed.arch import Arch
from testbed.checks.model import FileCheck, FunctionCheck, HowKnown, Severity, TableFinding
from testbed.checks.own_sources import sources_of
from testbed.image import Image
from testbed.image.disassembly import disassemble_sized
from testbed.image.read import read_image
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import (
    answer,
    evidence_words,
    file_name,
    functions_by_address,
    instruction,
    listed,
    place,
    repair_words,
    tried_words,
    wrong_things,
)
from testbed.report.page import gradient, page_text, render_page
from testbed.report.phrases import count, share
from testbed.words.errors import BudgetExceeded, ImageError
from testbed.words.printable import printable

# The code around a finding: its function's instructions, and the lines of its source, as far as they can be read.
#
# Nothing is guessed. Instructions are shown where the file itself has, at the finding's address, the instruction that
# the finding names; lines where the source lies where the finding says.

AROUND = 6  # instructions, or lines, shown on each side
_LONGEST = 16  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """One line of code: what stands before it (an address, a line's number), and whether it is the finding's."""

    label: str
    text: str
    here: bool


def instructions_around(
    check: FileCheck, function: FunctionCheck | None, finding: TableFinding
) -> tuple[ExcerptLine, ...]:
    """The instructions of the function around a finding; none where the file does not have the finding's there."""
    image = _image(check.path, check.arch)
    if function is None or image is None or image.relocatable:
        return ()
    listed = list(_decoded(image, function.start, function.end))
    here = next((i for i, (pc, _) in enumerate(listed) if pc == finding.pc), None)
    if here is None or _spaced(listed[here][1]) != _spaced(finding.instruction):
        return ()
    first = max(0, here - AROUND)
    return tuple(
        ExcerptLine(f"{printable(function.name)}+{pc - function.start:#x}", printable(text), i == here)
        for i, (pc, text) in enumerate(listed[first : here + AROUND + 1], first)
    )


def source_around(check: FileCheck, finding: TableFinding) -> tuple[ExcerptLine, ...]:
    """The lines of the source around a finding's; none where the source is not there, or is not the user's."""
    if not finding.source or not finding.line:
        return ()
    lines = sources_of(check.path).lines(finding.source)
    if finding.line > len(lines):
        return ()
    first = max(1, finding.line - AROUND)
    return tuple(
        ExcerptLine(str(number), printable(text.expandtabs(4)), number == finding.line)
        for number, text in enumerate(lines[first - 1 : finding.line + AROUND], first)
    )


@lru_cache(maxsize=4)
def _image(path: Path, arch: Arch) -> Image | None:
    try:
        return read_image(path, arch=arch)
    except (ImageError, BudgetExceeded):  # a source, an archive
        return None


def _decoded(image: Image, start: int, end: int) -> Iterator[tuple[int, str]]:
    while start < end:
        code = image.bytes_at(start, min(_LONGEST, end - start))
        if not code:
            return
        text, size = disassemble_sized(image.isa_at(start), code, start)
        yield start, text
        start += size


def _spaced(text: str) -> str:
    return " ".join(text.split())


_SCRIPTS = ("page.js", "check.js")


@dataclass(frozen=True, slots=True)
class _CoveragePart:
    """One of the parts that a function's instructions are divided into, and the words for it."""

    name: str
    label: str
    meaning: str


_PARTS = (
    _CoveragePart("executed", "executed", "on a path that the function takes by itself"),
    _CoveragePart("forced", "forced", "only where a branch was made to go the other way"),
    _CoveragePart("static", "only read", "never executed: their rows are held against the code by reading it"),
    _CoveragePart("never", "neither", "nothing says that their rows are right"),
)


def check_html(report: CheckReport) -> str:
    """The page as text."""
    checks = [file.check for file in report.files]
    return render_page(
        "check.html",
        css=page_text("page.css") + page_text("check.css"),
        script=Markup("\n").join(page_text(name) for name in _SCRIPTS),
        title=f"testbed check {file_name(checks[0])}" if len(checks) == 1 else "testbed check",
        report=report,
        files=[_file(number, file) for number, file in enumerate(report.files)],
        broken=[(printable(broken.what), broken.reason) for broken in report.broken],
        gone=[printable(sentence) for sentence in report.gone],
        headline=_headline(report, checks),
        parts=_PARTS,
        severities=[severity.value for severity in Severity],
        evidence=[known.value for known in HowKnown],
    )


def _headline(report: CheckReport, checks: list[FileCheck]) -> list[tuple[str, str, str]]:
    """Numbers in large print: (number, of what, what it is)."""
    functions = sum(len(check.functions) for check in checks)
    called = sum(function.calls > 0 for check in checks for function in check.functions)
    instructions = sum(check.total("instructions") for check in checks)
    ran = sum(check.total("ran") for check in checks)
    findings = [r for r in report.findings if r.finding.severity is not Severity.NOTE]
    known = sum(r.known for r in findings)
    executed = sum(r.finding.evidence is HowKnown.EXECUTED for r in findings)
    return [
        (
            f"{len(findings):,}",
            f"{known:,} known from the baseline" if known else f"{executed:,} seen on a natural path",
            "findings",
        ),
        (share(ran, instructions), f"of {count(instructions, 'instruction')}", "executed"),
        (f"{called:,}", f"of {count(functions, 'function')}", "called"),
        (f"{sum(check.compared for check in checks):,}", "of an instruction with its row", "comparisons"),
    ]


def _file(number: int, file: ReportedFile) -> dict[str, Any]:
    check = file.check
    covering = functions_by_address(check)
    findings = []
    of: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for i, reported in enumerate(file.findings):
        function = covering(reported.finding.pc)
        findings.append(_finding(f"{number}-{i}", check, function, reported))
        for start in {own.start for each in reported.finding.each if (own := covering(each.pc))}:
            of[start].append(findings[-1])
    return {
        "path": printable(str(check.path)),
        "arch": check.arch.name,
        "tables": listed(list(map(printable, check.tables))) or "no table",
        "answer": answer(file_name(check), [check]),
        "notes": [*map("judged: {}".format, check.conventions), *map(printable, check.notes)],
        "kept": check.kept,
        "findings": findings,
        # Those with findings first.
        "functions": sorted(
            (_function(piece, of[piece.start]) for piece in check.pieces),
            key=lambda shown: not shown["findings"],
        ),
        "totals": {part.name: check.total(part.name) for part in _PARTS},
        "gradient": gradient(((part.name, check.total(part.name)) for part in _PARTS), "never"),
        "instructions": check.total("instructions"),
        "without_row": check.total("without_row"),
        "dropped": [(printable(reason), number) for reason, number in check.dropped.items()],
    }


def _finding(
    identity: str, check: FileCheck, function: FunctionCheck | None, reported: ReportedFinding
) -> dict[str, Any]:
    finding = reported.finding
    excerpts = (source_around(check, finding), instructions_around(check, function, finding))
    return {
        "id": f"finding-{identity}",
        "severity": finding.severity.value,
        "evidence": finding.evidence.value,
        "known": reported.known,
        "kind": finding.kind.value,
        "table": printable(finding.table),
        "place": place(finding),
        "instruction": instruction(finding),
        "source": bool(finding.source),
        "things": wrong_things(finding),
        "directives": [printable(d) for d in finding.repair.directives] if finding.repair else [],
        "repair": repair_words(finding),
        "tried": tried_words(finding),
        "how": evidence_words(finding),
        "code": [lines for lines in excerpts if lines],
    }


def _function(function: FunctionCheck, findings: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = [getattr(function, part.name) for part in _PARTS]
    said = ", ".join(f"{part.label} {number:,}" for part, number in zip(_PARTS, numbers, strict=True) if number)
    return {
        "name": printable(function.name),
        "note": printable(function.note),
        "ran": share(function.ran, function.instructions),
        "whole": function.ran == function.instructions,
        "instructions": function.instructions,
        "without_row": function.without_row,
        "calls": function.calls,
        "returned": function.returned,
        "gradient": gradient(((part.name, getattr(function, part.name)) for part in _PARTS), "never"),
        "said": said,
        "findings": findings,
    }
