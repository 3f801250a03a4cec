"""A check as plain data: what ``testbed check --format json`` writes. ``schema/check.json`` documents it."""

from __future__ import annotations

import json
from typing import Any

from testbed.checks.model import FileCheck, FunctionCheck, TableFinding
from testbed.report.check_report import CheckReport, ReportedFile, ReportedFinding
from testbed.report.check_words import answer, file_name, sentence

SCHEMA = 1  # raised when a reader of the old shape would be misled
_TOTALS = ("instructions", "executed", "forced", "static", "never", "without_row")


def check_data(report: CheckReport) -> dict[str, Any]:
    """A report: every file with its findings and coverage, what a baseline has and no file any more, the status."""
    return {
        "schema": SCHEMA,
        "status": report.status,
        "answer": report.answer,
        "findings": len(list(report.findings)),
        "failing": report.failing,
        "known": report.known,
        "files": [_file(file) for file in report.files],
        "broken": [
            {"file": str(broken.path), "function": broken.function or None, "reason": broken.reason}
            for broken in report.broken
        ],
        "gone": list(report.gone),
    }


def json_text(data: Any) -> str:
    """Data as JSON that every reader takes: of a name that is no UTF-8, the wrong bytes are written ``\\udcff``."""
    return json.dumps(_unicode(data), indent=1) + "\n"


def _unicode(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {_unicode(key): _unicode(value) for key, value in data.items()}
    return [_unicode(each) for each in data] if isinstance(data, list) else data


def _file(file: ReportedFile) -> dict[str, Any]:
    check = file.check
    return {
        "file": str(check.path),
        "arch": check.arch.name,
        "tables": list(check.tables),
        "answer": answer(file_name(check), [check]),
        "seed": check.seed,
        "runs": check.runs,
        "steps": check.steps,
        "compared": check.compared,
        "kept": check.kept,
        "notes": list(check.notes),
        "coverage": _coverage(check),
        "dropped": dict(check.dropped),
        "findings": [finding_data(reported) for reported in file.findings],
        "functions": [_function(function) for function in check.functions],
        "parts": [_function(part) for part in check.parts],
    }


def _coverage(check: FileCheck) -> dict[str, int]:
    called = sum(function.calls > 0 for function in check.functions)
    totals = {name: check.total(name) for name in _TOTALS}
    return {"functions": len(check.functions), "called": called, "parts": len(check.parts), **totals}


def finding_data(reported: ReportedFinding) -> dict[str, Any]:
    """One finding: its key facts, the sentence that a terminal shows, and the fingerprint that a baseline knows."""
    finding = reported.finding
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "known": reported.known,
        "table": finding.table,
        "function": finding.function,
        "pc": finding.pc,
        "where": finding.where,
        "instruction": finding.instruction,
        "source": finding.source or None,
        "line": finding.line or None,
        "things": [{"what": thing.what, "says": thing.says, "true": thing.true} for thing in finding.things],
        "evidence": finding.evidence.value,
        "instructions": finding.instructions,
        "functions": finding.functions,
        "bare": finding.bare,
        "alike": [_alike(each) for each in finding.alike],
        "repair": _repair(finding),
        "sentence": sentence(finding),
        "fingerprint": finding.fingerprint,
    }


def _alike(finding: TableFinding) -> dict[str, Any]:
    """One of the functions that are told as one: where, and what a baseline knows it by."""
    return {
        "function": finding.function,
        "pc": finding.pc,
        "where": finding.where,
        "source": finding.source or None,
        "line": finding.line or None,
        "instructions": finding.instructions,
        "fingerprint": finding.fingerprint,
    }


def _repair(finding: TableFinding) -> dict[str, Any] | None:
    repair = finding.repair
    if repair is None:
        return None
    return {
        "directives": list(repair.directives),
        "replaced": list(repair.replaced),
        "replaced_at": repair.replaced_at or None,
        "place": repair.place,
        "remembered": repair.remembered or None,
        "later": [
            {"where": later.where, "directives": list(later.directives), "replaced": list(later.replaced)}
            for later in repair.later
        ],
        "repaired": repair.repaired,
    }


def _function(function: FunctionCheck) -> dict[str, Any]:
    return {
        "name": function.name,
        "start": function.start,
        "end": function.end,
        **{name: getattr(function, name) for name in _TOTALS},
        "calls": function.calls,
        "returned": function.returned,
        "note": function.note or None,
    }
