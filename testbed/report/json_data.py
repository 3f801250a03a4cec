"""Runs and matrices as plain data, the shape that ``--json`` writes. The schemas beside this file document it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from testbed.campaign.results import Cell, Difference, Matrix
from testbed.image.symbols import symbol_for
from testbed.runs.run import Run
from testbed.verdicts.one import NO_CALLERS, Callers, Verdict
from testbed.words.outcome import Outcome

SCHEMA = 1  # raised when a reader of the old shape would be misled


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of ``"run"``, ``"matrix"``, ``"check"``, and of whatever else stands in ``schema/``."""
    text = files("testbed.report").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def run_data(run: Run, judged: Sequence[tuple[Cell, Sequence[Verdict]]]) -> dict[str, Any]:
    """A run: every step with its truth and every strategy's verdict, and a summary per strategy."""
    return {
        "schema": SCHEMA,
        "program": run.program.name,
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "seed": run.trace.seed,
        "ending": run.ending,
        "steps": [_step(run, step, judged) for step in range(len(run))],
        "summary": {cell.unwinder: counts(cell) | {"callers": callers(cell.callers)} for cell, _ in judged},
    }


def _step(run: Run, step: int, judged: Sequence[tuple[Cell, Sequence[Verdict]]]) -> dict[str, Any]:
    pc = int(run.trace.pc[step])
    symbol = symbol_for(run.loaded.image, pc - run.loaded.bias)
    frames = run.truth(step).frames
    names = run.frame_names(frames)
    return {
        "step": step,
        "pc": pc,
        "symbol": symbol.name if symbol else None,
        "offset": pc - run.loaded.bias - symbol.address if symbol else None,
        "instruction": run.instruction(step),
        "traits": sorted(trait.name for trait in run.traits(step)),
        "truth": [
            {
                "pc": frame.pc,
                "function": name,
                "cfa": frame.cfa,
                "return_address": frames[i + 1].pc if i + 1 < len(frames) else None,
            }
            for i, (frame, name) in enumerate(zip(frames, names, strict=True))
        ],
        "verdicts": {cell.unwinder: _verdict(verdicts[step]) for cell, verdicts in judged},
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome.value,
        "explained_by": verdict.explained_by.mechanism if verdict.explained_by else None,
        "depth": verdict.depth,
        "detail": verdict.difference,
    }


def counts(cell: Cell) -> dict[str, int]:
    """The counts of a cell, under the names that every report uses."""
    return {
        "sites": cell.sites,
        "exact": cell.exact,
        "explained": cell.explained,
        "unexplained": cell.unexplained,
        "lying": cell.lying,
        "transition": cell.transition,
    }


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
        "totals": {
            key: sum(counts(cell)[key] for cell in matrix.cells)
            for key in ("sites", "exact", "explained", "unexplained", "lying", "transition")
        },
        "strategies": [
            {"unwinder": name, "arch": arch, "callers": callers(sum((cell.callers for cell in cells), NO_CALLERS))}
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
        "outcomes": {o.value: cell.outcomes[o] for o in Outcome if cell.outcomes.get(o)},
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
