"""What is interesting in a matrix, before all of its cells: a heat map, and the programs that divide strategies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import pstdev
from typing import Any

from testbed.campaign.results import Cell, Matrix, Unit
from testbed.report.phrases import share
from testbed.words.outcome import Outcome

MOST_DIVIDING = 8
MOST_NAMES = 3


def heat_map(matrix: Matrix) -> list[dict[str, Any]]:
    """A row per strategy, a cell per architecture: the share of exact sites outside transitions, and that of lies."""
    sums: dict[tuple[str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for cell in matrix.cells:
        key = cell.unwinder, cell.unit.arch
        sites, exact, lying = sums[key]
        sums[key] = sites + cell.sites - cell.transition, exact + cell.exact, lying + cell.lying
    arches = list(dict.fromkeys(cell.unit.arch for cell in matrix.cells))
    return [
        {"unwinder": name, "cells": [_heat(arch, *sums[name, arch]) for arch in arches]} for name in matrix.unwinders
    ]


def _heat(arch: str, sites: int, exact: int, lying: int) -> dict[str, Any]:
    return {
        "arch": arch,
        "sites": sites,
        "share": share(exact, sites) if sites else "–",
        "lies": share(lying, sites) if sites else "",
        "percent": round(100 * exact / sites) if sites else 0,
    }


def dividing(matrix: Matrix, summaries: Mapping[str, str]) -> list[dict[str, Any]]:
    """The programs on which strategies differ most, each by its most dividing unit.

    How much a unit divides is the standard deviation, over its strategies, of exact minus lying sites as a share.
    """
    by_unit: dict[Unit, list[tuple[int, Cell]]] = defaultdict(list)
    for index, cell in enumerate(matrix.cells):
        by_unit[cell.unit].append((index, cell))
    best: dict[str, tuple[float, Unit]] = {}
    for unit, cells in by_unit.items():
        spread = pstdev(_points(cell) for _, cell in cells)
        if spread > best.get(unit.program, (0.0, unit))[0]:
            best[unit.program] = spread, unit
    chosen = sorted(best.values(), key=lambda each: (-each[0], str(each[1])))[:MOST_DIVIDING]
    return [_row(unit, by_unit[unit], summaries) for _, unit in chosen]


def _points(cell: Cell) -> float:
    judged = cell.sites - cell.transition
    return (cell.exact - cell.lying) / judged if judged else 0.0


def _row(unit: Unit, cells: Sequence[tuple[int, Cell]], summaries: Mapping[str, str]) -> dict[str, Any]:
    right = [cell.unwinder for _, cell in cells if cell.exact == cell.sites - cell.transition]
    liars = sorted((cell for _, cell in cells if cell.lying), key=lambda cell: -cell.lying)
    return {
        "unit": unit,
        "summary": summaries.get(unit.program, ""),
        "right": ", ".join(right) or "nobody",
        "lies": ", ".join(f"{c.unwinder} {share(c.lying, c.sites - c.transition)}" for c in liars[:MOST_NAMES]),
        "more": max(len(liars) - MOST_NAMES, 0),
        "bars": [{"index": index, "title": _bar_title(cell), "parts": _parts(cell)} for index, cell in cells],
    }


def _bar_title(cell: Cell) -> str:
    judged = cell.sites - cell.transition
    return f"{cell.unwinder}: {share(cell.exact, judged)} exact, {share(cell.lying, judged)} lies"


def _parts(cell: Cell) -> list[tuple[str, int]]:
    """Outcomes and their sites, exact ones last: they are drawn at the foot of a bar."""
    return [(outcome.value, cell.outcomes[outcome]) for outcome in reversed(Outcome) if cell.outcomes.get(outcome)]
