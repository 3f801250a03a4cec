"""What `testbed serve` does for a change, in a process of its own: build, run, judge, and draw the stepper."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.arch import arch_named
from testbed.campaign.cells import cell_of
from testbed.campaign.results import Cell
from testbed.cli.strategies import strategies_named, telling
from testbed.program.model import read_program
from testbed.report.answers import answers_of
from testbed.report.json_data import counts
from testbed.report.stepper import stepper_html
from testbed.runs.run import Run, run_built, run_program
from testbed.serve.edited_source import EditedSource
from testbed.trace import Exited
from testbed.words.errors import TestbedError

Question = tuple[EditedSource, Path | None]
NATIVE_FROM = (
    500  # steps; this process goes on, so that loading what judges natively is worth it earlier than elsewhere
)
UNENDING = 300  # steps that are shown of a run that does not end
_BESIDE = ("fragments", "parts")  # what sources of the corpus include


def judge_edits(names: Sequence[str], budget: int) -> Callable[[Question], dict[str, Any]]:
    """The function that judges edits by the strategies of these names, or by the telling ones."""
    chosen = strategies_named(names) if names else []

    def judge(question: Question) -> dict[str, Any]:
        edit, folder = question
        started = time.perf_counter()
        run = _run(edit, folder, budget)
        unwinders = [each for each in chosen or telling(run.built.image, 0) if each.applies_to(run.built.image)]
        answers = answers_of(run, unwinders, natively=len(run) >= NATIVE_FROM)
        cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
        return {
            "page": stepper_html(run, answers, cells),
            "steps": len(run),
            "ending": run.ending,
            "recipe": run.recipe.name,
            "notes": list(_notes(run, cells)),
            "cells": [{"name": cell.unwinder, **counts(cell)} for cell in cells],
            "seconds": round(time.perf_counter() - started, 3),
        }

    return judge


def _run(edit: EditedSource, folder: Path | None, budget: int) -> Run:
    """The source built and run; of one that does not end, its beginning."""
    with _written(edit, folder) as path:
        run = run_program(read_program(path, own=True), arch_named(edit.arch), edit.recipe or None, budget=budget)
    return run if isinstance(run.trace.end, Exited) else run_built(run.built, budget=min(budget, UNENDING))


def _notes(run: Run, cells: Sequence[Cell]) -> Iterator[str]:
    """What a reader has to know before believing the page."""
    if run.failure:
        yield run.failure
    for said in run.disagreements:
        yield said.rpartition("/")[2]
    for cell in cells:
        if cell.first_unexplained is not None:
            yield f"UNEXPLAINED: {cell.first_unexplained.seen}"


@contextmanager
def _written(edit: EditedSource, folder: Path | None) -> Iterator[Path]:
    """The source as a file in a folder of its own, with the corpus's fragments and parts beside it."""
    with tempfile.TemporaryDirectory(prefix="testbed-edit-") as temporary:
        for name in _BESIDE:
            if folder is not None and (folder / name).is_dir():
                (Path(temporary) / name).symlink_to(folder / name)
        path = Path(temporary, f"{edit.program}{edit.suffix}")
        path.write_text(edit.text, encoding="utf-8")
        try:
            yield path
        except TestbedError as error:  # a place in a folder that is gone again says nothing
            raise TestbedError(str(error).replace(f"{temporary}/", "")) from error
