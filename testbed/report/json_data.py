"""Matrices as plain data, the shape that ``--json`` writes. The schemas beside this file document it."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from testbed.campaign.results import Cell, Difference, Matrix
from testbed.image import image_covering
from testbed.image.symbols import symbol_for
from testbed.runs.run import Run
from testbed.verdicts.counts import NOTHING_COUNTED, Callers, Counts
from testbed.verdicts.one import Verdict
from testbed.words.traits import Trait

COUNTS = ("sites", "exact", "explained", "unexplained", "lying", "transition")
SCHEMA = 1  # raised when a reader of the old shape would be misled


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of ``"run"``, ``"matrix"``, ``"check"``, and of whatever else stands in ``schema/``."""
    text = files("testbed.report").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def counts(found: Counts) -> dict[str, int]:
    """Counts under the names that every report uses."""
    return {name: getattr(found, name) for name in COUNTS}


def callers(found: Callers) -> dict[str, Any]:
    """Callers as counts, and the two shares that follow; null where nothing was said, or nothing is there."""
    return {
        "said": found.said,
        "true": found.true,
        "found": found.found,
        "precision": found.precision,
        "recall": found.recall,
    }


def matrix_data(matrix: Matrix) -> dict[str, Any]:
    """A matrix: every cell, what was skipped or failed and why, and the totals."""
    return {
        "schema": SCHEMA,
        "complete": matrix.complete,
        "units": matrix.planned,
        "tools": _tools(matrix),
        "cells": [_cell(cell) for cell in matrix.cells],
        "skipped": [{"unit": str(r.unit), "reason": r.skipped} for r in matrix.results if r.skipped],
        "failed": [{"unit": str(r.unit), "reason": r.failed} for r in matrix.results if r.failed],
        "totals": counts(sum(matrix.cells, NOTHING_COUNTED)),
        "strategies": [
            {"unwinder": name, "arch": arch, "callers": callers(sum(cells, NOTHING_COUNTED).callers)}
            for (name, arch), cells in matrix.by_strategy().items()
        ],
    }


def _tools(matrix: Matrix) -> list[dict[str, Any]]:
    """Every version of a compiler, an assembler or a linker that built a unit, and the recipes it did that for."""
    found: dict[tuple[str, str], set[str]] = {}
    for result in matrix.results:
        if result.tools:
            found.setdefault((result.tools, result.unit.arch), set()).add(result.unit.recipe)
    return [{"version": key[0], "arch": key[1], "recipes": sorted(names)} for key, names in sorted(found.items())]


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "program": cell.unit.program,
        "arch": cell.unit.arch,
        "recipe": cell.unit.recipe,
        "unwinder": cell.unwinder,
        **counts(cell),
        "callers": callers(cell.callers),
        "outcomes": {outcome.value: number for outcome, number in cell.outcomes.items()},
        "first_difference": _difference(cell.first),
        "first_unexplained": _difference(cell.first_unexplained),
    }


def _difference(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        "step": difference.step,
        "where": difference.where,
        "outcome": difference.outcome.value,
        "explained_by": difference.mechanism,
        "sentence": difference.sentence,
    }


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

RUN_SCHEMA = 2  # raised when a reader of the old shape would be misled


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
    """A run: every step with its truth and every strategy's verdict, and a summary per strategy."""
    instructions, traits, verdicts = _Distinct(), _Distinct(), _Distinct()
    code, held = [], []
    for step, pc in enumerate(run.trace.pc.tolist()):
        text, said = run.instruction(step), run.traits(step)
        code.append(instructions.number((pc, text), partial(_instruction, run, pc, text)))
        held.append(traits.number(said, partial(_names, said)))
    by_strategy = {cell.unwinder: [_verdict(verdicts, verdict) for verdict in each] for cell, each in judged}
    return {
        "schema": RUN_SCHEMA,
        "program": run.program.name,
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "seed": run.trace.seed,
        "ending": run.ending,
        "instructions": instructions.rows,
        "activations": [_activation(run, index) for index in range(len(run.watched.activations))],
        "traits": traits.rows,
        "verdicts": verdicts.rows,
        "steps": {
            "instruction": code,
            "activation": run.watched.node.tolist(),
            "traits": held,
            "verdicts": by_strategy,
        },
        "summary": {cell.unwinder: counts(cell) | {"callers": callers(cell.callers)} for cell, _ in judged},
    }


def _names(traits: Iterable[Trait]) -> list[str]:
    return sorted(trait.name for trait in traits)


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


def _verdict(rows: _Distinct, verdict: Verdict) -> int:
    limit = verdict.explained_by
    key = (verdict.outcome, limit.mechanism if limit else None, verdict.depth, verdict.difference)
    names = ("outcome", "explained_by", "depth", "detail")
    return rows.number(key, lambda: dict(zip(names, (verdict.outcome.value, *key[1:]), strict=True)))
