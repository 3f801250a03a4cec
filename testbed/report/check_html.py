"""A check as one self-contained page: the answer, findings that open at the instruction, a bar for each function."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from testbed.arch import Arch
from testbed.checks.model import FileCheck, FunctionCheck, HowKnown, Severity, SourceEdit, TableFinding
from testbed.checks.own_sources import sources_of
from testbed.checks.source_edits import patched
from testbed.image import Image
from testbed.image.disassembly import disassemble_sized
from testbed.image.read import read_image
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import (
    answer,
    beside,
    consequence_words,
    evidence_words,
    file_name,
    functions_by_address,
    instruction,
    listed,
    no_patch_words,
    place,
    repair_words,
    spot,
    stacks,
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

AROUND = 4  # instructions, or lines, shown on each side
_LONGEST = 16  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """One line of code: what stands before it (an address, a line's number), and its ``mark``.

    ``here`` is the finding's instruction, ``changed`` what is to change, ``old`` becomes ``new`` by the correction.
    """

    label: str
    text: str
    mark: str = ""


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
        ExcerptLine(
            f"{printable(function.name)}+{pc - function.start:#x}", printable(text), "here" if i == here else ""
        )
        for i, (pc, text) in enumerate(listed[first : here + AROUND + 1], first)
    )


def sources_around(check: FileCheck, finding: TableFinding) -> Iterator[tuple[ExcerptLine, ...]]:
    """The lines of the source around a finding's, with its correction in them, and before them those of a macro's in
    another file; nothing of what is not there, or is not the user's.
    """
    sources, (file, line, _) = sources_of(check.path), spot(finding)
    edits = finding.repair.edits if finding.repair and not finding.is_of_functions else ()
    for name in dict.fromkeys((file, finding.source)):
        lines = sources.lines(name)
        own = [edit for edit in edits if edit.file == name and _stands(edit, lines)]
        here = finding.line if finding.source == name else 0
        marks = {**({line: "changed"} if file == name and not own else {}), **({here: "here"} if here else {})}
        wanted = [at for at in {*marks, *(edit.line for edit in own)} if 0 < at <= len(lines) + 1]
        if wanted and max(marks, default=0) <= len(lines):
            yield tuple(_excerpt(lines, own, marks, wanted))


def _stands(edit: SourceEdit, lines: Sequence[str]) -> bool:
    """Is a line as it was when the file was checked?"""
    text = f"{lines[edit.line - 1]}\n" if edit.line <= len(lines) else ""
    return text.startswith(edit.old, edit.column - 1)


def _excerpt(
    lines: Sequence[str], edits: Sequence[SourceEdit], marks: Mapping[int, str], wanted: Sequence[int]
) -> Iterator[ExcerptLine]:
    """The lines around some, those that change beside what they become; dots where some are left out."""
    shown = sorted({k for at in wanted for k in range(max(1, at - AROUND), min(at + AROUND, len(lines)) + 1)})
    last = 0
    for number in shown:
        if last and number > last + 1:
            yield ExcerptLine("", "…")
        last = number
        its = [edit for edit in edits if edit.line == number]
        old = lines[number - 1]
        moved = [replace(edit, line=1) for edit in its]
        new = patched(f"{old}\n", moved).split("\n")[:-1] if its else [old]
        ahead = new.index(old) if old in new else len(new)
        yield from (ExcerptLine("+", _plain(text), "new") for text in (new[:ahead] if old in new else ()))
        mark = marks.get(number, "") if old in new else "old"
        yield ExcerptLine(str(number), _plain(old), mark)
        yield from (ExcerptLine("+", _plain(text), "new") for text in (new[ahead + 1 :] if old in new else new))


def _plain(text: str) -> str:
    return printable(text.expandtabs(4))


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
    _CoveragePart("forced", "forced", "only where a branch was turned, or a call answered by us"),
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
            f"{known:,} known from the baseline" if known else f"{executed:,} seen when executed",
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
    new = [finding for finding in findings if not finding["known"]]
    return {
        "id": f"file-{number}",
        "counts": Counter(finding["severity"] for finding in new),
        "first": {finding["severity"]: finding["id"] for finding in reversed(new)},
        "known": len(findings) - len(new),
        "ran": share(check.total("ran"), check.total("instructions")),
        "path": printable(str(check.path)),
        "arch": check.arch.name,
        "tables": listed(list(map(printable, check.tables))) or "no unwind table",
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
        "lacked": check.total("lacked"),
        "dropped": [(printable(reason), number) for reason, number in check.dropped.items()],
    }


def _finding(
    identity: str, check: FileCheck, function: FunctionCheck | None, reported: ReportedFinding
) -> dict[str, Any]:
    finding = reported.finding
    excerpts = (*sources_around(check, finding), instructions_around(check, function, finding))
    return {
        "id": f"finding-{identity}",
        "severity": finding.severity.value,
        "evidence": finding.evidence.value,
        "known": reported.known,
        "kind": finding.kind.value,
        "table": printable(finding.table),
        "place": place(finding),
        "instruction": instruction(finding),
        "beside": beside(finding),
        "source": bool(finding.source),
        "what": consequence_words(finding),
        "open": not reported.known and finding.severity is not Severity.NOTE,
        "things": wrong_things(finding),
        "stacks": stacks(finding),
        "repair": repair_words(finding),
        "no_patch": no_patch_words(finding),
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
