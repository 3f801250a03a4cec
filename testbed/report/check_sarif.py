"""A check as SARIF 2.1.0, for code-scanning services (OASIS, Static Analysis Results Interchange Format).

A rule per kind of finding. A result lies at its file and line where those are known, else in the program file at an
address; the function is its logical location. ``partialFingerprints`` tell a service that two results are the same
one although lines have moved. What a baseline knows is suppressed, and said to be unchanged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from testbed.checks.model import SEVERITIES, FileCheck, FindingKind, Severity, SourceEdit, TableFinding
from testbed.checks.own_sources import Sources, line_end, lines_of, sources_of
from testbed.report.check_report import BrokenInput, CheckReport, ReportedFinding
from testbed.report.check_words import EVIDENCE, near, region, repair_words, sentence
from testbed.words.files import own_version
from testbed.words.printable import printable

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_RULES: Mapping[FindingKind, tuple[str, str, str]] = {
    FindingKind.WRONG_ROW: (
        "WrongUnwindRow",
        "A row of an unwind table says something false.",
        "Each instruction's row says where the caller's registers and its stack are. Here that is not where they were "
        "when the instruction was executed, so a debugger, a profiler or an exception that unwinds from here goes "
        "wrong. In assembly, add the directive that the message names before the instruction; in compiled code, the "
        "compiler is wrong.",
    ),
    FindingKind.NO_ROW: (
        "NoUnwindRow",
        "Code of a function that is called has no row in an unwind table.",
        "Nothing can unwind from here by this table. In assembly, begin the function with .cfi_startproc and end it "
        "with .cfi_endproc; in compiled code, ask for tables with -fasynchronous-unwind-tables.",
    ),
    FindingKind.START_WITHOUT_ROW: (
        "StartWithoutUnwindRow",
        "Code at which a program or a thread begins has no row in an unwind table.",
        "Nobody calls it, so there is nowhere to unwind to; an unwinder that comes here stops without knowing that "
        "this is the end. .cfi_undefined of the return address says so.",
    ),
    FindingKind.OTHER_ENTRY: (
        "RowsOfAnotherEntry",
        "The rows of a function suppose that it is not entered by a call.",
        "They count more on the stack than a call leaves there, and the function takes it off before it goes on, as "
        "what resolves the slots of a linkage table does; or they have a register above the frame. Whoever calls it as "
        "a function finds rows that are wrong; who enters it as it is meant finds right ones.",
    ),
    FindingKind.CANNOT_UNWIND: (
        "CannotUnwind",
        "A function that is called is marked as one that cannot be unwound.",
        "EXIDX_CANTUNWIND stops every unwinder here: no exception gets through, no debugger sees the callers. Linkers "
        "and compilers write it for code without a table; -funwind-tables asks for one. Where it is meant, as in a "
        "function that must not throw, nothing is wrong.",
    ),
    FindingKind.FORMATS_DIFFER: (
        "UnwindFormatsDiffer",
        "Two unwind tables of one file contradict each other.",
        "Each unwinder reads the table that it knows, so one of them goes wrong here. Nothing executed this "
        "instruction, and what stands before it does not tell which table is right.",
    ),
    FindingKind.NO_EPILOGUE_ROWS: (
        "NoEpilogueRows",
        "A compiler wrote no rows for the epilogues of its functions.",
        "LLVM's ARM back end writes call frame information for prologues only: from the first instruction of an "
        "epilogue on, the row still describes the whole frame, and so it does in code behind an epilogue. Debuggers "
        "that stop there go wrong; exceptions, which come from calls, do not.",
    ),
    FindingKind.UNREADABLE: (
        "UnreadableUnwindTable",
        "An unwind table has something that cannot be read.",
        "The bytes break the format of the table. Whoever reads it stops here, or reads something else.",
    ),
    FindingKind.HALF_CFA: (
        "HalfOfACfa",
        "An unwind table gives an offset or a register to a CFA that an expression computes.",
        "DWARF allows it only where the CFA counts from a register (version 5, section 6.4.2.2). libgcc and gdb pass "
        "over an offset and let a register count by the last one; others stop there. It comes of .cfi_def_cfa_offset, "
        ".cfi_adjust_cfa_offset and .cfi_def_cfa_register that stand behind .cfi_escape.",
    ),
}
_KINDS = tuple(FindingKind)
MOST_RELATED = 100  # locations beside a result's own: GitHub takes 1,000 of them in all


def sarif_data(report: CheckReport, folder: Path | None = None) -> dict[str, Any]:
    """A report as SARIF. Files below ``folder`` (where the repository begins) are named relative to it."""
    base = folder or report.base
    seen: Counter[str] = Counter()
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "invocations": [_invocation(report, base)],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(file.check, reported, base, report.baseline is not None, seen)
            for file in report.files
            for reported in file.findings
        ],
        "properties": {"answer": report.answer, "gone": list(report.gone)},
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver() -> dict[str, Any]:
    return {
        "name": "testbed",
        "semanticVersion": own_version(),
        "rules": [
            {
                "id": kind.value,
                "name": _RULES[kind][0],
                "shortDescription": {"text": _RULES[kind][1]},
                "fullDescription": {"text": _RULES[kind][2]},
                "help": {"text": _RULES[kind][2]},
                "defaultConfiguration": {"level": _LEVELS[SEVERITIES[kind]]},
            }
            for kind in _KINDS
        ],
    }


def _invocation(report: CheckReport, base: Path) -> dict[str, Any]:
    broken = [_notification(each, base) for each in report.broken]
    return {
        "executionSuccessful": not report.broken,
        "exitCode": report.status,
        **({"toolExecutionNotifications": broken} if broken else {}),
    }


def _notification(broken: BrokenInput, base: Path) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": f"{broken.function}: {broken.reason}" if broken.function else broken.reason},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(str(broken.path), base)}}}],
    }


def _result(
    check: FileCheck, reported: ReportedFinding, base: Path, baseline: bool, seen: Counter[str]
) -> dict[str, Any]:
    finding = reported.finding
    result: dict[str, Any] = {
        "ruleId": finding.kind.value,
        "ruleIndex": _KINDS.index(finding.kind),
        "level": _LEVELS[finding.severity],
        "message": {"text": sentence(finding, base)},
        "locations": [_location(check, finding, base)],
        "partialFingerprints": _fingerprints(check, reported, seen),
        "properties": {
            "file": str(check.path),
            "arch": check.arch.name,
            "table": finding.table,
            "evidence": f"{finding.evidence.value}: {EVIDENCE[finding.evidence]}",
            "instructions": finding.instructions,
            "functions": [printable(each.function) for each in finding.alike],
        },
    }
    if others := [each for each in finding.each[1:] if each.source]:
        result["relatedLocations"] = [
            {**_location(check, each, base), "message": {"text": printable(each.function)}}
            for each in others[:MOST_RELATED]
        ]
    if fix := _fix(finding, base, sources_of(check.path)):
        result["fixes"] = [fix]
    if baseline:
        result["baselineState"] = "unchanged" if reported.known else "new"
    if reported.known:
        result["suppressions"] = [{"kind": "external", "justification": "known from the baseline"}]
    return result


def _fix(finding: TableFinding, base: Path, sources: Sources) -> dict[str, Any] | None:
    """The corrections of the source, as regions that are replaced (SARIF 2.1.0, section 3.55): what `--fix` writes.

    None that gives code without rows some that are wrong: an unwinder would lie that stops now.
    """
    if finding.repair is None or not finding.repair.edits or finding.needs_annotating:
        return None
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.repair.edits:
        changes.setdefault(edit.file, []).append(_replacement(edit, sources.text(edit.file)))
    return {
        "description": {"text": repair_words(finding, base)},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(file, base)}, "replacements": its} for file, its in changes.items()
        ],
    }


def _replacement(edit: SourceEdit, text: str) -> dict[str, Any]:
    """A region that is replaced, with the ends of lines that its source has. Behind the last line that has no end, the
    new one is given none."""
    lines, (line, column), new = edit.old.split("\n"), (edit.line, edit.column), edit.new
    until, end = line + len(lines) - 1, column + len(edit.old) if len(lines) == 1 else len(lines[-1]) + 1
    own = lines_of(text)
    if text and line > len(own) and not text.endswith("\n"):
        line = until = len(own)
        column = end = len(own[-1]) + 1
        new = f"\n{new.removesuffix(chr(10))}"
    deleted = {"startLine": line, "startColumn": column, "endLine": until, "endColumn": end}
    return {"deletedRegion": deleted, "insertedContent": {"text": new.replace("\n", line_end(text))}}


def _location(check: FileCheck, finding: TableFinding, base: Path) -> dict[str, Any]:
    where = printable(finding.where) or hex(finding.pc)
    file, line, column, behind, text = region(finding, sources_of(check.path))
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file or str(check.path), base)}}
    # A program file has no lines, but GitHub takes no location without one.
    physical["region"] = {
        "startLine": max(line, 1),
        **({"startColumn": column} if column else {}),
        **({"endLine": line, "endColumn": behind} if behind else {}),
        **({"snippet": {"text": text}} if text else {}),
    }
    if not finding.source:
        physical["address"] = {"absoluteAddress": finding.pc, "fullyQualifiedName": where, "kind": "instruction"}
    logical = {"name": printable(finding.function) or where, "fullyQualifiedName": where, "kind": "function"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _fingerprints(check: FileCheck, reported: ReportedFinding, seen: Counter[str]) -> dict[str, str]:
    """The hash of what a baseline knows a finding by, and those that it stands for: with another one it is a new alert.

    GitHub reads only the second one, with a number behind it.
    """
    members = sorted(each.fingerprint for each in reported.finding.alike)
    said = "|".join((check.path.name, check.arch.name, reported.finding.fingerprint, *members))
    digest = hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()
    seen[digest] += 1
    return {"unwindRow/v2": digest, "primaryLocationLineHash": f"{digest[:16]}:{seen[digest]}"}


def _uri(name: str, base: Path) -> str:
    """A file's URI: relative to the folder where it lies below it or was named so, else absolute."""
    path = Path(near(name, base))
    if path.is_absolute():
        return "file://" + quote(path.as_posix(), errors="surrogateescape")
    # A colon in the first part would make it a scheme.
    return quote(path.as_posix(), safe="/", errors="surrogateescape")
