"""The stepper of every unit of a matrix, as files beside its page: where every cell of it links to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from testbed.campaign.cells import cell_of
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.report.answers import answers_of
from testbed.report.stepper import stepper_html
from testbed.runs.run import Run


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
    text = run_stepper_html(run_unit(unit, programs), unwinders)
    (folder / f"{unit}.html").write_text(text, encoding="utf-8")


def run_stepper_html(run: Run, unwinders: Sequence[Unwinder]) -> str:
    """The page of a run, judged by the strategies that exist for it."""
    answers = answers_of(run, [each for each in unwinders if each.applies_to(run.built.image)])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    return stepper_html(run, answers, cells)
