"""Matrices and runs as JSON: the forms of what ``testbed matrix --json`` writes, and a run in columns.

A form says what is written of a value, and its schema is made from it (`testbed.report.json_forms`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

import numpy as np

from testbed.campaign.cells import Cell, Matrix
from testbed.image import image_covering
from testbed.image.symbols import symbol_for
from testbed.report import JsonVersion
from testbed.report.check_json import ConventionForm
from testbed.report.phrases import BESIDE
from testbed.runs.run import Run
from testbed.store.codec import Fraction, Keyword, Natural, encoded, taken
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts, Verdict
from testbed.words.outcome import Outcome

CountsForm = TypedDict(
    "CountsForm",
    {
        "sites": Natural,
        "exact": Natural,
        "foretold": Natural,
        "luck": Annotated[Natural, BESIDE["luck"]],
        "open": Annotated[Natural, BESIDE["open"]],
        "unexplained": Annotated[Natural, BESIDE["unexplained"]],
        "lying": Natural,
        "transition": Natural,
        "undecided": Annotated[Natural, BESIDE["undecided"]],
    },
)
CallersForm = TypedDict(
    "CallersForm",
    {
        "said": Natural,
        "true": Natural,
        "found": Natural,
        "precision": Annotated[Fraction | None, "found / said; null where nothing was said"],
        "recall": Annotated[Fraction | None, "found / true; null where there is nothing to find"],
    },
)
DifferenceForm = TypedDict(
    "DifferenceForm",
    {
        "step": int,
        "where": str,
        "outcome": Outcome,
        "clause": Annotated[str | None, "the clause of the assumption that fails; null where it is unexplained"],
        "reason": Annotated[str, taken("because")],
        "sentence": str,
    },
)
CellForm = TypedDict(
    "CellForm",
    {
        "program": Annotated[str, taken("unit.program")],
        "arch": Annotated[str, taken("unit.arch")],
        "recipe": Annotated[str, taken("unit.recipe")],
        "unwinder": str,
        "sites": Natural,
        "exact": Natural,
        "foretold": Natural,
        "luck": Annotated[Natural, BESIDE["luck"]],
        "open": Annotated[Natural, BESIDE["open"]],
        "unexplained": Annotated[Natural, BESIDE["unexplained"]],
        "lying": Natural,
        "transition": Natural,
        "undecided": Annotated[Natural, BESIDE["undecided"]],
        "callers": Annotated[CallersForm, "callers at all sites outside transitions"],
        "outcomes": Mapping[Outcome, Annotated[int, Keyword("minimum", 1)]],
        "first_difference": Annotated[DifferenceForm | None, taken("first")],
        "first_unexplained": DifferenceForm | None,
    },
)
ToolForm = TypedDict("ToolForm", {"version": str, "arch": str, "recipes": tuple[str, ...]})
NotJudgedForm = TypedDict("NotJudgedForm", {"unit": str, "reason": str})
UnwinderForm = TypedDict("UnwinderForm", {"unwinder": str, "arch": str, "callers": CallersForm})


COUNTS = tuple(CountsForm.__annotations__)


def counts(found: Counts) -> dict[str, int]:
    """Counts under the names that every report uses."""
    return encoded(CountsForm, found)  # type: ignore[no-any-return]


def _tools(matrix: Matrix) -> Iterable[Mapping[str, Any]]:
    """Every version of a compiler, an assembler or a linker that built a unit, and the recipes it did that for."""
    found: dict[tuple[str, str], set[str]] = {}
    for result in matrix.results:
        if result.tools:
            found.setdefault((result.tools, result.unit.arch), set()).add(result.unit.recipe)
    return [{"version": key[0], "arch": key[1], "recipes": sorted(names)} for key, names in sorted(found.items())]


def _unwinders(matrix: Matrix) -> Iterable[Mapping[str, Any]]:
    for (name, arch), cells in matrix.by_unwinder().items():
        yield {"unwinder": name, "arch": arch, "callers": sum(cells, NOTHING_COUNTED).callers}


def _not_judged(why: str, matrix: Matrix) -> Iterable[Mapping[str, str]]:
    reasons = ((result.unit, getattr(result, why)) for result in matrix.results)
    return [{"unit": str(unit), "reason": reason} for unit, reason in reasons if reason]


MatrixForm = TypedDict(
    "MatrixForm",
    {
        "schema": JsonVersion,
        "complete": Annotated[bool, "false: interrupted, the rest was not judged"],
        "units": Annotated[Natural, taken("planned"), "(program, arch, recipe) triples that were planned"],
        "tools": Annotated[
            tuple[ToolForm, ...],
            taken(_tools),
            "what built the units: compilers, assemblers and linkers, as they name their versions",
        ],
        "cells": tuple[CellForm, ...],
        "skipped": Annotated[tuple[NotJudgedForm, ...], taken(partial(_not_judged, "skipped"))],
        "failed": Annotated[tuple[NotJudgedForm, ...], taken(partial(_not_judged, "failed"))],
        "totals": Annotated[CountsForm, taken(lambda matrix: sum(matrix.cells, NOTHING_COUNTED))],
        "unwinders": Annotated[
            tuple[UnwinderForm, ...], taken(_unwinders), "per unwinder and architecture, in catalogue order"
        ],
    },
)


# A run as plain data, the shape of ``testbed run --json``: tables of what occurs, and columns of indexes per step.
#
# What is true at step ``k`` (``schema/run.json`` has every field)::
#
#     here = data["instructions"][data["steps"]["instruction"][k]]
#     activation = data["activations"][data["steps"]["activation"][k]]     # frame 0: here["pc"], activation["cfa"]
#     while activation["outer"] is not None:                                # its callers, innermost first
#         pc, function = activation["return_address"], activation["caller"]
#         activation = data["activations"][activation["outer"]]
#     data["verdicts"][data["steps"]["verdicts"]["eh_frame"][k]]["outcome"]

RUN_SCHEMA = 3  # raised when a reader of the old shape would be misled


class _Distinct:
    """A table under construction: equal rows are one, and each is made once."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.rows: list[Any] = []

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.rows)
            self.rows.append(make())
        return self.numbers[key]


def run_data(run: Run, judged: Sequence[tuple[Cell, Sequence[Verdict]]]) -> dict[str, Any]:
    """A run: every step with its truth and every unwinder's verdict, and a summary per unwinder."""
    instructions, words, verdicts = _Distinct(), _Distinct(), _Distinct()
    code, held = [], []
    for step, pc in enumerate(run.trace.pc.tolist()):
        text, said = run.instruction(step), run.words(step)
        code.append(instructions.number((pc, text), partial(_instruction, run, pc, text)))
        held.append(words.number(said, partial(sorted, [word.name for word in said])))
    by_unwinder = {cell.unwinder: [_verdict(run, verdicts, *each) for each in enumerate(said)] for cell, said in judged}
    return {
        "schema": RUN_SCHEMA,
        "program": run.program.name,
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "seed": run.trace.seed,
        "ending": run.ending,
        "instructions": instructions.rows,
        "activations": [_activation(run, index) for index in range(len(run.watched.activations))],
        "words": words.rows,
        "verdicts": verdicts.rows,
        "steps": {
            "instruction": code,
            "activation": run.watched.node.tolist(),
            "words": held,
            "verdicts": by_unwinder,
        },
        "undecided": np.flatnonzero(run.watched.undecided).tolist(),
        **({"conventions": encoded(tuple[ConventionForm, ...], run.conventions)} if run.conventions else {}),
        "summary": {
            cell.unwinder: counts(cell) | {"callers": encoded(CallersForm, cell.callers)} for cell, _ in judged
        },
    }


def _instruction(run: Run, pc: int, text: str) -> dict[str, Any]:
    loaded = image_covering(run.trace.images, pc)
    symbol = symbol_for(loaded.image, pc - loaded.bias) if loaded else None
    offset = pc - loaded.bias - symbol.address if loaded and symbol else None
    return {"pc": pc, "symbol": symbol.name if symbol else None, "offset": offset, "text": text}


def _activation(run: Run, index: int) -> dict[str, Any]:
    activation = run.watched.activations[index]
    frames = run.truth(activation.opened).frames
    name = run.frame_names(frames[1:2])[0] if len(frames) > 1 else None
    return {
        "cfa": activation.cfa,
        "return_address": activation.return_address,
        "caller": name,
        "outer": activation.parent,
    }


def _verdict(run: Run, rows: _Distinct, step: int, verdict: Verdict) -> int:
    key = (verdict.outcome, verdict.accord.name.lower(), verdict.clause, run.why(verdict, step), verdict.depth)
    names = ("outcome", "accord", "clause", "reason", "depth", "detail")
    told = (verdict.outcome.value, *key[1:], verdict.difference)
    return rows.number((*key, verdict.difference), lambda: dict(zip(names, told, strict=True)))
