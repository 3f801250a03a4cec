"""Matrices as plain data, the shape that ``--json`` writes. The schemas beside this file document it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from testbed.campaign.results import Cell, Difference, Matrix
from testbed.verdicts.one import NO_CALLERS, Callers
from testbed.words.outcome import Outcome

SCHEMA = 1  # raised when a reader of the old shape would be misled


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of ``"run"``, ``"matrix"``, ``"check"``, and of whatever else stands in ``schema/``."""
    text = files("testbed.report").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


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
