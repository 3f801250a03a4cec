"""The matrix as one self-contained page: no network, no script, readable in light and dark."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from testbed.matrix import Cell, Matrix
from testbed.outcome import Outcome
from testbed.report.data import matrix_data
from testbed.report.words import share
from testbed.traits import Trait


def write_matrix_html(matrix: Matrix, path: Path) -> None:
    """Write the matrix page to ``path``."""
    environment = Environment(
        loader=PackageLoader("testbed", "report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    page = environment.get_template("matrix.html").render(**_content(matrix))
    path.write_text(page, encoding="utf-8")


def _content(matrix: Matrix) -> dict[str, Any]:
    unwinders = list(dict.fromkeys(cell.unwinder for cell in matrix.cells))
    by_unit: dict[Any, dict[str, Cell]] = defaultdict(dict)
    by_strategy: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in matrix.cells:
        by_unit[cell.unit][cell.unwinder] = cell
        by_strategy[cell.unwinder, cell.unit.arch].append(cell)
    firsts: dict[tuple[str, str], dict[str, str]] = {}
    for cell in matrix.cells:
        if cell.first:
            firsts.setdefault((cell.unwinder, cell.unit.arch), {"title": str(cell), "sentence": cell.first.sentence})
    return {
        "data": matrix_data(matrix),
        "unwinders": unwinders,
        "rows": [
            {
                "program": unit.program,
                "arch": unit.arch,
                "recipe": unit.recipe,
                "cells": [_shown(cells[name]) if name in cells else None for name in unwinders],
            }
            for unit, cells in by_unit.items()
        ],
        "totals": [
            _total(*key, group) for key, group in sorted(by_strategy.items(), key=lambda p: unwinders.index(p[0][0]))
        ],
        "outcomes": [o for o in Outcome if o is not Outcome.EXACT and any(c.outcomes.get(o) for c in matrix.cells)],
        "all_outcomes": list(Outcome),
        "traits": list(Trait),
        "firsts": list(firsts.values()),
    }


def _shown(cell: Cell) -> dict[str, str]:
    judged = cell.sites - cell.transition
    others = ", ".join(f"{o.value} {n}" for o, n in cell.outcomes.items() if o is not Outcome.EXACT)
    return {
        "share": share(cell.exact, judged),
        "class": "bad" if cell.unexplained else "good" if cell.exact == judged else "part",
        "title": f"{cell.exact} of {judged} exact" + (f"; {others}" if others else ""),
    }


def _total(unwinder: str, arch: str, cells: list[Cell]) -> dict[str, Any]:
    return {
        "unwinder": unwinder,
        "arch": arch,
        "sites": sum(cell.sites for cell in cells),
        "exact": sum(cell.exact for cell in cells),
        "explained": sum(cell.explained for cell in cells),
        "unexplained": sum(cell.unexplained for cell in cells),
        "lying": sum(cell.lying for cell in cells),
        "outcomes": {o.value: sum(cell.outcomes.get(o, 0) for cell in cells) for o in Outcome},
    }
