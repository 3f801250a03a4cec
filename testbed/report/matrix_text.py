"""The matrix on the terminal: one row per program, one column per architecture and strategy, then the sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from testbed.campaign.results import Cell, Matrix
from testbed.report.causes import unclaimed
from testbed.report.json_data import COUNTS
from testbed.report.narrow_tables import ColumnBlocks
from testbed.report.phrases import BESIDE, STYLES, besides, count, folded, share
from testbed.verdicts.counts import NOTHING_COUNTED
from testbed.words.outcome import Outcome

MOST_COLUMNS = 8  # of shares beside a program's name, in 100 columns
_HEADS = {"foretold": "fore-\ntold", "unexplained": "unex-\nplained", "transition": "transi-\ntion"}
_CALLERS = "precision: of the callers said, the true ones; recall: of the true callers, those that were said"
MOST_SHOWN = 12  # unexplained cells that are told in full


def matrix_page(matrix: Matrix) -> RenderableType:
    """A matrix: exact shares by program, sums by strategy, then whatever is unexplained or failed."""
    parts: list[RenderableType] = [*_by_program(matrix), *_totals(matrix), *_problems(matrix)]
    done = f"{len(matrix.results)} of {matrix.planned} units" if not matrix.complete else count(matrix.planned, "unit")
    skipped = sum(1 for result in matrix.results if result.skipped)
    sites = sum(cell.sites for cell in matrix.cells)
    line = (
        f"{done} (program × architecture × recipe), {count(len(matrix.cells), 'cell')}, {count(sites, 'site')} judged"
    )
    parts.append(Text(f"\n{line}" + (f", {skipped} skipped" if skipped else "")))
    if matrix.kept:
        parts.append(Text(f"{count(matrix.kept, 'unit')} unchanged since the last time (--fresh judges them again)"))
    if not matrix.complete:
        parts.append(Text("INTERRUPTED: the rest was not judged.", style="bold red"))
    return Group(*parts)


def _by_program(matrix: Matrix) -> list[RenderableType]:
    """The share of exact sites, over all recipes, by program, strategy and architecture.

    One table with a column per (strategy, architecture) where that fits; else a table per architecture.
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
    heads = tuple(f"{folded(unwinder)}\n{arch}" for unwinder, arch in columns)
    rows: list[tuple[str | Text, ...]] = []
    for program in dict.fromkeys(key[0] for key in grouped):
        shown = [_share(grouped.get((program, unwinder, arch), [])) for unwinder, arch in columns]
        if any(str(share) != "-" for share in shown):
            rows.append((program, *shown))
    return ColumnBlocks(("program",), heads, tuple(rows))


def _share(cells: Iterable[Cell]) -> Text:
    all_ = sum(cells, NOTHING_COUNTED)
    style = "bold red" if all_.unexplained else "green" if all_.judged and all_.exact == all_.judged else ""
    return Text(share(all_.exact, all_.judged) + (" ?" if all_.unexplained else ""), style=style)


def _totals(matrix: Matrix) -> list[RenderableType]:
    """The sums by strategy and architecture, and how its sites that are not exact are not."""
    sums: list[tuple[str | Text, ...]] = []
    kinds: list[tuple[str | Text, ...]] = []
    there = {outcome for cell in matrix.cells for outcome in cell.outcomes}
    outcomes = [outcome for outcome in Outcome if outcome is not Outcome.EXACT and outcome in there]
    beside = besides(matrix.cells)
    shown = [name for name in COUNTS if name not in BESIDE or name in beside]
    words, heads = ("strategy", "arch"), (*(_HEADS.get(name, name) for name in shown), "preci-\nsion", "recall")
    labels = tuple(Text(outcome.label, style=STYLES[outcome]) for outcome in outcomes)
    for (unwinder, arch), group in matrix.by_strategy().items():
        total = sum(group, NOTHING_COUNTED)
        bad = {"unexplained": "bold red"} if total.unexplained else {}
        numbers = [Text(f"{getattr(total, name):,}", style=bad.get(name, "")) for name in shown]
        callers, came_out = total.callers, total.outcomes
        right = (share(callers.found, callers.said), share(callers.found, callers.true))
        sums.append((unwinder, arch, *numbers, *right))
        if total.exact < total.judged:
            kinds.append((unwinder, arch, *(f"{came_out.get(outcome, 0):,}" for outcome in outcomes)))
    parts: list[RenderableType] = [
        Text("\nSites, by strategy and architecture", style="bold"),
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
    shown: list[RenderableType] = []
    for result in matrix.results:
        if result.failed:
            shown.append(Text.assemble(("FAILED ", "bold red"), f"{result.unit}: {result.failed}"))
    unexplained = [cell for cell in matrix.cells if cell.first_unexplained]
    for cell in unexplained[:MOST_SHOWN]:
        if cell.first_unexplained:
            head = f"UNEXPLAINED {cell} ({count(cell.unexplained, 'site')}): "
            shown.append(Text.assemble((head, "bold red"), cell.first_unexplained.sentence))
    if len(unexplained) > MOST_SHOWN:
        shown.append(Text(f"... and {len(unexplained) - MOST_SHOWN} more unexplained cells; --json has them all"))
    missing = dict.fromkeys(result.skipped for result in matrix.results if result.skipped)
    shown += [Text.assemble(("skipped ", "yellow"), reason) for reason in missing]
    return shown
