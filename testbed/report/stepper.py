"""A run as one self-contained page: a stepper over all instructions. No network, no framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from testbed.campaign.cells import cell_of
from testbed.campaign.results import Cell, Unit
from testbed.campaign.units import run_unit
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.report.answers import Answers, answers_of
from testbed.report.causes import clauses_failed
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
        outcomes=[o for o in Outcome if o is Outcome.EXACT or any(o in cell.outcomes for cell in cells)],
        glossary=[*clauses_failed(cells), *((word.name, word.value) for word in occurring(columns))],
        kinds=list(WordKind),
    )


def write_stepper(run: Run, answers: Answers, cells: Sequence[Cell], path: Path) -> None:
    """Write the page of a run to ``path``."""
    path.write_text(stepper_html(run, answers, cells), encoding="utf-8")


# The stepper of every unit of a matrix, as files beside its page: where every cell of it links to.


def pages_beside(page: Path) -> Path:
    """The folder of the steppers that a matrix page links to."""
    return page.with_name(f"{page.stem}-steppers")


def stepper_link(page: Path, unit: Unit) -> str:
    """Where the stepper of a unit is, from the matrix page."""
    return f"{quote(pages_beside(page).name)}/{quote(f'{unit}.html')}"


def write_unit_stepper(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], folder: Path
) -> None:
    """Judge a unit once more, for what its strategies said at each step, and write its page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run = run_unit(unit, programs)
    answers = answers_of(run, [each for each in unwinders if each.applies_to(run.built.image)])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    (folder / f"{unit}.html").write_text(stepper_html(run, answers, cells), encoding="utf-8")
