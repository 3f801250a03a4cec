"""A run as one self-contained page: a stepper over all instructions. No network, no framework."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from testbed.campaign.results import Cell
from testbed.report.answers import Answers
from testbed.report.packed_columns import packed
from testbed.report.page import page_text, render_page
from testbed.report.stack_drawing import WordKind
from testbed.report.stepper_data import occurring, stepper_data
from testbed.report.stepper_moves import Move
from testbed.report.table_text import LEGEND
from testbed.runs.run import Run
from testbed.words.outcome import Outcome

_SCRIPTS = ("page.js", "stepper_model.js", "stepper_time.js", "stepper_panels.js", "stepper_callers.js", "stepper.js")
# In the order of the buttons: the sign, and whether a phone does without it.
_SIGNS = {
    Move.FIRST: ("|◀", True),
    Move.BACK: ("◀", False),
    Move.NEXT: ("▶", False),
    Move.LAST: ("▶|", True),
    Move.NEXT_CALL: ("call", False),
    Move.OUT: ("out", False),
    Move.NEXT_DIFFERENCE: ("difference", False),
}


def stepper_html(run: Run, answers: Answers, cells: Sequence[Cell]) -> str:
    """The page of a run as text."""
    facts, columns = stepper_data(run, answers, cells)
    return render_page(
        "stepper.html",
        css=page_text("page.css") + page_text("stepper.css"),
        script=Markup("\n").join(page_text(name) for name in _SCRIPTS),
        data=packed(facts, columns),
        title=facts["title"],
        summary=run.program.summary,
        steps=len(run),
        ending=run.ending,
        seed=run.trace.seed,
        moves=[(move.name, move.key, move.does, *_SIGNS[move]) for move in _SIGNS],
        row_legend=LEGEND,
        outcomes=[o for o in Outcome if o is Outcome.EXACT or any(cell.outcomes.get(o) for cell in cells)],
        traits=occurring(columns),
        kinds=list(WordKind),
    )


def write_stepper(run: Run, answers: Answers, cells: Sequence[Cell], path: Path) -> None:
    """Write the page of a run to ``path``."""
    path.write_text(stepper_html(run, answers, cells), encoding="utf-8")
