"""What ``testbed lint`` prints: a line per finding, and per table how much of the run it was held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.checks.model import FindingKind, TableFinding
from testbed.checks.watched_run import TableLint
from testbed.report.check_json import finding_data
from testbed.report.check_report import ReportedFinding
from testbed.report.check_words import instruction, place, repair_words, tried_words, wrong_things
from testbed.report.phrases import count
from testbed.runs.run import Run
from testbed.words.printable import printable


def finding_line(finding: TableFinding) -> str:
    """``work+0xb (ret): the row says CFA = rsp+0x10, ...: add `.cfi_def_cfa_offset 0x8` before it``."""
    at = f"{place(finding)}: " if finding.source else ""
    where = f"{instruction(finding)}: " if finding.where else ""
    fix = f": {repair}" if (repair := repair_words(finding)) else ""
    more = finding.instructions - 1
    others = f" in {count(finding.functions - 1, 'more function')}" if finding.functions > 1 else ""
    rest = f"{count(more, 'more instruction')}{others} by the same cause" if more > 0 else ""
    known = "; ".join(filter(None, (tried_words(finding), rest)))
    return f"{at}{where}{'; '.join(wrong_things(finding))}{fix}" + (f" ({known})" if known else "")


def summary_line(said: TableLint) -> str:
    """How many instructions were compared, and of how many of them what is said."""
    executed = "calls that were executed" if said.at_calls else "instructions that were executed"
    if said.table == said.strategy and not said.compared:
        return "the table cannot be read, so nothing was compared"
    if not said.compared:
        return f"none of the {executed} was compared"
    untried = f"{said.untried:,} of them {'has' if said.untried == 1 else 'have'} a rule that could not be tried"
    if not said.wrong and not said.without_row:
        return f"every row is right at the {said.compared:,} {executed}" + (f"; {untried}" if said.untried else "")
    right = said.compared - said.wrong - said.without_row
    parts = [f"of the {said.compared:,} {executed}, {right:,} {'has' if right == 1 else 'have'} a right row"]
    parts += [f"{said.wrong:,} a wrong one"] if said.wrong else []
    parts += [f"{said.without_row:,} none"] if said.without_row else []
    return ", ".join(parts) + (f"; {untried}" if said.untried else "")


def table_lines(said: TableLint) -> list[str]:
    """All that is said of one table; notes, which fail nothing, are marked."""
    marks = {FindingKind.START_WITHOUT_ROW: "note: ", FindingKind.NO_EPILOGUE_ROWS: "note: "}
    lines = [printable(f"{said.strategy}: {marks.get(f.kind, '')}{finding_line(f)}") for f in said.findings]
    return [*lines, f"{said.strategy}: {summary_line(said)}"]


# What ``testbed lint --json`` writes. ``schema/lint.json`` documents it; its findings are those of a check.

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
