"""The matrix on the terminal: one row per program, one column per architecture and unwinder, then the sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import pstdev
from typing import Any

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from testbed.campaign.cells import Cell, Matrix, Unit
from testbed.report.json_data import COUNTS, MatrixForm, counts
from testbed.report.narrow_tables import ColumnBlocks
from testbed.report.page import gradient, packed, page_text, render_page
from testbed.report.phrases import BESIDE, STYLES, besides, count, share
from testbed.report.run_text import clauses_failed, unclaimed
from testbed.store.codec import encoded
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts
from testbed.words.outcome import Outcome

# The matrix as one self-contained page: what is interesting first, then all cells. No network.
#
# Where steppers are written beside it (`stepper.py`), every cell links to its unit's, at its first difference.

# What is interesting in a matrix, before all of its cells: a heat map, and the programs that divide unwinders.

MOST_DIVIDING = 8
MOST_NAMES = 3


def heat_map(matrix: Matrix) -> list[dict[str, Any]]:
    """A row per unwinder, a cell per architecture: the share of exact sites outside transitions, and that of lies."""
    sums = {key: sum(cells, NOTHING_COUNTED) for key, cells in matrix.by_unwinder().items()}
    arches = list(dict.fromkeys(cell.unit.arch for cell in matrix.cells))
    return [
        {"unwinder": name, "cells": [_heat(arch, sums.get((name, arch), NOTHING_COUNTED)) for arch in arches]}
        for name in matrix.unwinders
    ]


def _heat(arch: str, total: Counts) -> dict[str, Any]:
    sites = total.judged
    return {
        "arch": arch,
        "sites": sites,
        "share": share(total.exact, sites) if sites else "–",
        "lies": share(total.lying, sites) if sites else "",
        "percent": round(100 * total.exact / sites) if sites else 0,
    }


def dividing(matrix: Matrix, summaries: Mapping[str, str]) -> list[dict[str, Any]]:
    """The programs on which unwinders differ most, each by its most dividing unit.

    How much a unit divides is the standard deviation, over its unwinders, of exact minus lying sites as a share.
    """
    by_unit: dict[Unit, list[tuple[int, Cell]]] = defaultdict(list)
    for index, cell in enumerate(matrix.cells):
        by_unit[cell.unit].append((index, cell))
    best: dict[str, tuple[float, Unit]] = {}
    for unit, cells in by_unit.items():
        spread = pstdev(cell.points for _, cell in cells)
        if spread > best.get(unit.program, (0.0, unit))[0]:
            best[unit.program] = spread, unit
    chosen = sorted(best.values(), key=lambda each: (-each[0], str(each[1])))[:MOST_DIVIDING]
    return [_row(unit, by_unit[unit], summaries) for _, unit in chosen]


def _row(unit: Unit, cells: Sequence[tuple[int, Cell]], summaries: Mapping[str, str]) -> dict[str, Any]:
    right = [cell.unwinder for _, cell in cells if cell.exact == cell.judged]
    liars = sorted((cell for _, cell in cells if cell.lying), key=lambda cell: -cell.lying)
    return {
        "unit": unit,
        "summary": summaries.get(unit.program, ""),
        "right": ", ".join(right) or "nobody",
        "lies": ", ".join(f"{c.unwinder} {share(c.lying, c.judged)}" for c in liars[:MOST_NAMES]),
        "more": max(len(liars) - MOST_NAMES, 0),
        # Of each unwinder, exact sites last: they are drawn at the foot of its bar.
        "bars": [
            {
                "index": index,
                "title": f"{c.unwinder}: {share(c.exact, c.judged)} exact, {share(c.lying, c.judged)} lies",
                "parts": [(outcome.value, number) for outcome, number in reversed(list(c.outcomes.items()))],
            }
            for index, c in cells
        ],
    }


SHOWN_TRAPS = 8  # the others are behind a click
_SCRIPTS = ("page.js", "matrix.js")
_HEADLINE = (
    ("exact", "the whole truth"),
    ("foretold", "not exact, where and as the failed clause of the assumption foretells"),
    *BESIDE.items(),
    ("lying", "claimed something false, foretold or not"),
    ("transition", "no single answer is right there"),
)


Steppers = Callable[[Unit], str | None]


def write_matrix_html(
    matrix: Matrix, path: Path, summaries: Mapping[str, str] | None = None, steppers: Steppers = lambda _: None
) -> None:
    """Write the matrix page to ``path``; ``summaries`` says in a line what each program does."""
    path.write_text(matrix_html(matrix, summaries or {}, steppers), encoding="utf-8")


def matrix_html(matrix: Matrix, summaries: Mapping[str, str], steppers: Steppers = lambda _: None) -> str:
    """The matrix page as text; ``steppers`` says where a unit's own page is, if it has one."""
    unwinders = list(matrix.unwinders)
    by_unit: dict[Any, dict[str, tuple[int, Cell]]] = defaultdict(dict)
    for index, cell in enumerate(matrix.cells):
        by_unit[cell.unit][cell.unwinder] = index, cell
    data = encoded(MatrixForm, matrix)
    pages, beside = {unit: steppers(unit) for unit in by_unit}, besides(matrix.cells)
    for cell, shown in zip(matrix.cells, data["cells"], strict=True):
        shown["page"] = _at_first_difference(pages[cell.unit], cell)
    return render_page(
        "matrix.html",
        css=page_text("page.css") + page_text("matrix.css"),
        script=Markup("\n").join(page_text(name) for name in _SCRIPTS),
        block=packed({"cells": data["cells"], "unwinders": unwinders}, {}),
        data=data,
        headline=[each for each in _HEADLINE if each[0] not in BESIDE or each[0] in beside],
        beside=beside,
        heat=heat_map(matrix),
        dividing=dividing(matrix, summaries),
        shown_traps=SHOWN_TRAPS,
        unwinders=unwinders,
        arches=list(dict.fromkeys(unit.arch for unit in by_unit)),
        rows=[
            {
                "program": unit.program,
                "arch": unit.arch,
                "recipe": unit.recipe,
                "cells": [_shown(*cells[name], pages[unit]) if name in cells else None for name in unwinders],
            }
            for unit, cells in by_unit.items()
        ],
        totals=[_total(*key, group) for key, group in matrix.by_unwinder().items()],
        traps=_traps(matrix, summaries),
        outcomes=list(Outcome),
        glossary=clauses_failed(matrix.cells),
        unclaimed=unclaimed(matrix.cells),
        kinds=(),
    )


def _shown(index: int, cell: Cell, page: str | None) -> dict[str, Any]:
    judged, others = cell.judged, list(cell.outcomes.items())
    words = ", ".join(f"{outcome.value} {n}" for outcome, n in others if outcome is not Outcome.EXACT)
    marks = "".join(outcome.mark for outcome, _ in others if outcome is not Outcome.EXACT)
    return {
        "index": index,
        "page": _at_first_difference(page, cell),
        "share": share(cell.exact, judged),
        "marks": marks + ("?" if cell.unforetold else ""),
        "class": "bad" if cell.unexplained else "good" if cell.exact == judged else "part",
        "style": f"--parts:{gradient(((outcome.value, n) for outcome, n in others), 'soft')}",
        "title": f"{cell}: {cell.exact} of {judged} exact" + (f"; {words}" if words else ""),
    }


def _at_first_difference(page: str | None, cell: Cell) -> str | None:
    """The link into a stepper: this unwinder focused, at the first step that it has to answer for."""
    if page is None:
        return None
    first = cell.first_unexplained or cell.first_lie or cell.first
    return f"{page}#{f'step={first.step}&' if first else ''}focus={cell.unwinder}"


def _total(unwinder: str, arch: str, cells: Sequence[Cell]) -> dict[str, Any]:
    total = sum(cells, NOTHING_COUNTED)
    callers, came_out = total.callers, total.outcomes
    return {
        "unwinder": unwinder,
        "arch": arch,
        **counts(total),
        "precision": share(callers.found, callers.said),
        "recall": share(callers.found, callers.true),
        "outcomes": {outcome.value: came_out.get(outcome, 0) for outcome in Outcome},
    }


def _traps(matrix: Matrix, summaries: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each program with the unwinders that lie on it, the worst trap first."""
    lies: dict[str, dict[str, int]] = {cell.unit.program: {} for cell in matrix.cells}
    for cell in matrix.cells:
        if cell.lying:
            caught = lies[cell.unit.program]
            caught[cell.unwinder] = caught.get(cell.unwinder, 0) + cell.lying
    rows = [
        {
            "program": program,
            "summary": summaries[program],
            "lying": sum(caught.values()),
            "by": ", ".join(f"{name} ({count:,})" for name, count in sorted(caught.items(), key=lambda p: -p[1])),
        }
        for program, caught in lies.items()
        if program in summaries
    ]
    return sorted(rows, key=lambda row: (-row["lying"], row["program"]))


MOST_COLUMNS = 8  # of shares beside a program's name, in 100 columns
_HEADS = {"foretold": "fore-\ntold", "unexplained": "unex-\nplained", "transition": "transi-\ntion"}
_CALLERS = "precision: of the callers said, the true ones; recall: of the true callers, those that were said"
MOST_SHOWN = 12  # unexplained cells that are told in full


def matrix_page(matrix: Matrix) -> RenderableType:
    """A matrix: exact shares by program, sums by unwinder, then whatever is unexplained or failed."""
    parts: list[RenderableType] = [*_by_program(matrix), *_totals(matrix), *_problems(matrix)]
    done = f"{len(matrix.results)} of {matrix.planned} units" if not matrix.complete else count(matrix.planned, "unit")
    skipped = sum(1 for result in matrix.results if result.skipped)
    sites = sum(cell.sites for cell in matrix.cells)
    line = (
        f"{done} (program × architecture × recipe), {count(len(matrix.cells), 'cell')}, {count(sites, 'site')} judged"
    )
    failing = sum(cell.unexplained > 0 for cell in matrix.cells)
    fail = (
        f"; {count(failing, 'cell')} fail{'s' * (failing == 1)}" if failing else "; no cell fails" * bool(matrix.cells)
    )
    parts.append(Text(f"\n{line}" + (f", {skipped} skipped" if skipped else "") + fail))
    if matrix.kept:
        parts.append(Text(f"{count(matrix.kept, 'unit')} unchanged since the last time (--fresh judges them again)"))
    if not matrix.complete:
        parts.append(Text("INTERRUPTED: the rest was not judged.", style="bold red"))
    return Group(*parts)


def _by_program(matrix: Matrix) -> list[RenderableType]:
    """The share of exact sites, over all recipes, by program, unwinder and architecture.

    One table with a column per (unwinder, architecture) where that fits; else a table per architecture.
    """
    cells = matrix.cells
    arches = list(dict.fromkeys(cell.unit.arch for cell in cells))
    grouped: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.unit.program, cell.unwinder, cell.unit.arch].append(cell)
    columns = [(u, a) for u in matrix.unwinders for a in arches if any(key[1:] == (u, a) for key in grouped)]
    if len(columns) <= MOST_COLUMNS:
        return [Text("Exact sites, over all recipes", style="bold"), _shares(grouped, columns)]
    tables: list[RenderableType] = []
    for arch in arches:
        here = [column for column in columns if column[1] == arch]
        gap = "\n" if tables else ""
        tables.append(Text(f"{gap}Exact sites on {arch}, over all recipes", style="bold"))
        tables += [_shares(grouped, here[i : i + MOST_COLUMNS]) for i in range(0, len(here), MOST_COLUMNS)]
    return tables


def _shares(grouped: Mapping[tuple[str, str, str], Sequence[Cell]], columns: Sequence[tuple[str, str]]) -> ColumnBlocks:
    heads = tuple(f"{unwinder}\n{arch}" for unwinder, arch in columns)
    rows: list[tuple[str | Text, ...]] = []
    for program in dict.fromkeys(key[0] for key in grouped):
        shown = [_share(grouped.get((program, unwinder, arch), [])) for unwinder, arch in columns]
        if any(str(share) != "-" for share in shown):
            rows.append((program, *shown))
    return ColumnBlocks(("program",), heads, tuple(rows))


def _share(cells: Iterable[Cell]) -> Text:
    all_ = sum(cells, NOTHING_COUNTED)
    style = "bold red" if all_.unexplained else "green" if all_.judged and all_.exact == all_.judged else ""
    return Text(share(all_.exact, all_.judged) + (" ?" if all_.unforetold else ""), style=style)


def _totals(matrix: Matrix) -> list[RenderableType]:
    """The sums by unwinder and architecture, and how its sites that are not exact are not."""
    sums: list[tuple[str | Text, ...]] = []
    kinds: list[tuple[str | Text, ...]] = []
    there = {outcome for cell in matrix.cells for outcome in cell.outcomes}
    outcomes = [outcome for outcome in Outcome if outcome is not Outcome.EXACT and outcome in there]
    beside = besides(matrix.cells)
    shown = [name for name in COUNTS if name not in BESIDE or name in beside]
    words, heads = ("unwinder", "arch"), (*(_HEADS.get(name, name) for name in shown), "preci-\nsion", "recall")
    labels = tuple(Text(outcome.label, style=STYLES[outcome]) for outcome in outcomes)
    for (unwinder, arch), group in matrix.by_unwinder().items():
        total = sum(group, NOTHING_COUNTED)
        bad = {"unexplained": "bold red"} if total.unexplained else {}
        numbers = [Text(f"{getattr(total, name):,}", style=bad.get(name, "")) for name in shown]
        callers, came_out = total.callers, total.outcomes
        right = (share(callers.found, callers.said), share(callers.found, callers.true))
        sums.append((unwinder, arch, *numbers, *right))
        if total.exact < total.judged:
            kinds.append((unwinder, arch, *(f"{came_out.get(outcome, 0):,}" for outcome in outcomes)))
    parts: list[RenderableType] = [
        Text("\nSites, by unwinder and architecture", style="bold"),
        ColumnBlocks(words, heads, tuple(sums)),
        Text(_CALLERS, "dim"),
    ]
    if open_ := unclaimed(matrix.cells):
        parts.append(Text(open_, "dim"))
    if outcomes:
        legend = [Text(f"{o.label:<9} {o.meaning}", style="dim") for o in outcomes]
        parts += [Text("\nSites that are not exact (CAPITALS: a lie)", style="bold")]
        parts += [ColumnBlocks(words, labels, tuple(kinds)), Text(), *legend]
    return parts


def _problems(matrix: Matrix) -> list[RenderableType]:
    shown: list[RenderableType] = [
        Text.assemble(("FAILED ", "bold red"), f"{result.unit}: {result.failed}")
        for result in matrix.results
        if result.failed
    ]
    unexplained = [cell for cell in matrix.cells if cell.first_unexplained]
    for cell in unexplained[:MOST_SHOWN]:
        if cell.first_unexplained:
            head = f"{'UNEXPLAINED' if cell.unforetold else 'WRONG'} {cell} ({count(cell.unexplained, 'site')}): "
            shown.append(Text.assemble((head, "bold red"), cell.first_unexplained.sentence))
    if len(unexplained) > MOST_SHOWN:
        shown.append(Text(f"... and {len(unexplained) - MOST_SHOWN} more cells that fail; --json has them all"))
    missing = dict.fromkeys(result.skipped for result in matrix.results if result.skipped)
    shown += [Text.assemble(("skipped ", "yellow"), reason) for reason in missing]
    return shown
