"""What ``testbed lint --json`` writes. ``schema/lint.json`` documents it; its findings are those of a check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.checks.watched_run import TableLint
from testbed.report.check_json import finding_data
from testbed.report.check_report import ReportedFinding
from testbed.report.lint_text import summary_line
from testbed.runs.run import Run

SCHEMA = 1  # raised when a reader of the old shape would be misled


def lint_data(run: Run, tables: Sequence[TableLint], status: int) -> dict[str, Any]:
    """A run, why it proves nothing of what comes after its end, and every table that was held against it."""
    return {
        "schema": SCHEMA,
        "program": run.program.name,
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "seed": run.trace.seed,
        "steps": len(run),
        "ending": run.ending,
        "failure": run.failure or None,
        "disagreements": list(run.disagreements),
        "status": status,
        "tables": [_table(said) for said in tables],
    }


def _table(said: TableLint) -> dict[str, Any]:
    return {
        "strategy": said.strategy,
        "table": said.table,
        "at_calls": said.at_calls,
        "compared": said.compared,
        "visits": int(said.checks.visits.sum()),
        "wrong": said.wrong,
        "without_row": said.without_row,
        "untried": said.untried,
        "answer": summary_line(said),
        "findings": [finding_data(ReportedFinding(finding)) for finding in said.findings],
    }
