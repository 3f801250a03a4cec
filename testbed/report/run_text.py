"""A run on the terminal: every executed instruction, every strategy's outcome beside it, then the sums."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from testbed.campaign.results import Cell
from testbed.report.phrases import STYLES, count, folded, frame_pointer, share, stack_pointer
from testbed.runs.run import Run
from testbed.verdicts.one import Verdict
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

# In 100 columns: so many strategies get a column under their name, so many a narrow one under a number that the
# summary explains; beyond that each has one letter.
_NAMED, _NUMBERED = 3, 5
_BLOCK = 128  # steps in one row of rich's table: a row of it per step takes longer than judging the step
_KEYS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


Judged = Sequence[tuple[Cell, Sequence[Verdict]]]


def run_page(run: Run, judged: Judged, *, only_differences: bool = False) -> RenderableType:
    """A run: title, one line per step, a summary per strategy, the first difference of each, the legend."""
    steps = [
        step
        for step in range(len(run))
        if not only_differences or any(not verdicts[step].exact for _, verdicts in judged)
    ]
    parts: list[RenderableType] = [_title(run), *_key(judged), _steps(run, judged, steps), Text()]
    if judged:
        parts += [_summary([cell for cell, _ in judged]), *_differences([cell for cell, _ in judged])]
    parts.append(_legend([cell for cell, _ in judged]))
    return Group(*parts)


def summary_page(title: str, note: str, cells: Sequence[Cell]) -> RenderableType:
    """A run without its steps: title, a summary per strategy, the first difference of each, the legend."""
    head = Text.assemble((title, "bold"), f"\n{note}\n")
    return Group(head, _summary(cells), *_differences(cells), _legend(cells))


def _title(run: Run) -> Text:
    text = Text()
    text.append(f"{run.program.name} · {run.arch} · {run.recipe.name}", style="bold")
    text.append(f"   {count(len(run), 'step')}, {run.ending}, seed {run.trace.seed}\n")
    text.append(run.program.summary, style="italic")
    return text


def _key(judged: Judged) -> list[RenderableType]:
    """Which strategy each numbered column is."""
    if len(judged) <= _NAMED:
        return []
    return [
        Text(
            "columns: " + ", ".join(f"{key} {cell.unwinder}" for key, (cell, _) in zip(_KEYS, judged, strict=False)),
            style="bold",
        )
    ]


def _steps(run: Run, judged: Judged, steps: Sequence[int]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), expand=False, show_edge=False, pad_edge=False)
    table.add_column("step", justify="right", style="dim", min_width=max(4, len(str(len(run)))))
    table.add_column("pc", no_wrap=True, max_width=18)
    table.add_column("instruction", no_wrap=True, max_width=28)
    table.add_column("sp", no_wrap=True, min_width=8)
    table.add_column("fp", no_wrap=True, min_width=8)
    if len(judged) <= _NAMED:
        for cell, _ in judged:
            table.add_column(folded(cell.unwinder), no_wrap=True, min_width=8)
    elif len(judged) <= _NUMBERED:
        for number in range(1, len(judged) + 1):
            table.add_column(str(number), no_wrap=True, min_width=5)
    else:
        table.add_column(_KEYS[: len(judged)], no_wrap=True)
    rows = _step_rows(run, judged, steps)
    while block := list(islice(rows, _BLOCK)):
        table.add_row(*(Text("\n").join(column) for column in zip(*block, strict=True)))
    return table


def _step_rows(run: Run, judged: Judged, steps: Sequence[int]) -> Iterator[list[Text]]:
    """A line per step: none of its cells is wrapped, so that a table's cell can hold those of many steps."""
    shown: tuple[int, str, str] | None = None
    for step in steps:
        node = int(run.watched.node[step])
        sp, fp = stack_pointer(run, step), frame_pointer(run, step)
        same = shown is not None and shown[0] == node
        row = [
            Text(str(step)),
            Text(" " * min(len(run.truth(step)) - 1, 4) + run.where(int(run.trace.pc[step]))),
            Text(run.instruction(step)),
            Text("" if same and shown and shown[1] == sp else sp),
            Text("" if same and shown and shown[2] == fp else fp),
        ]
        shown = (node, sp, fp)
        verdicts = [by_step[step] for _, by_step in judged]
        if len(judged) <= _NUMBERED:
            row += [_word(verdict, short=len(judged) > _NAMED) for verdict in verdicts]
        else:
            row.append(Text.assemble(*[_mark(verdict) for verdict in verdicts]))
        yield row


def _word(verdict: Verdict, *, short: bool) -> Text:
    if verdict.transition:
        return Text("~", style="dim")
    mark = "" if verdict.exact or verdict.explained_by else "?"
    word = verdict.outcome.short if short else verdict.outcome.label
    return Text(word + mark, style=STYLES[verdict.outcome])


def _mark(verdict: Verdict) -> tuple[str, str]:
    return ("~", "dim") if verdict.transition else (verdict.outcome.mark, STYLES[verdict.outcome])


def _summary(cells: Sequence[Cell]) -> Table:
    numbered = len(cells) > _NAMED
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, title_justify="left")
    table.add_column("strategy")
    for name in ("sites", "exact", "explained", "unexplained", "lying", "transition"):
        table.add_column(name, justify="right")
    table.add_column("exact of sites", justify="right")
    for key, cell in zip(_KEYS, cells, strict=False):
        table.add_row(
            f"{key} {cell.unwinder}" if numbered else cell.unwinder,
            str(cell.sites),
            str(cell.exact),
            str(cell.explained),
            Text(str(cell.unexplained), style="bold red" if cell.unexplained else ""),
            str(cell.lying),
            str(cell.transition),
            share(cell.exact, cell.sites - cell.transition),
        )
    return table


def _differences(cells: Sequence[Cell]) -> list[RenderableType]:
    shown: list[RenderableType] = []
    for cell in cells:
        first = cell.first_unexplained or cell.first
        if first is not None:
            label = "First unexplained difference" if cell.first_unexplained else "First difference"
            shown.append(
                Padding(Text.assemble((f"{label} of {cell.unwinder}: ", "bold"), first.sentence), (1, 0, 0, 0))
            )
    return shown


def _legend(cells: Sequence[Cell]) -> RenderableType:
    """What the words on this page mean; only those that occur."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for outcome in Outcome:
        if any(cell.outcomes.get(outcome) for cell in cells):
            word = outcome.label if len(cells) <= _NAMED else outcome.short
            table.add_row(Text(word, style=STYLES[outcome]), outcome.mark, outcome.meaning)
    occur = {name for cell in cells for mechanism, _ in cell.shown for name in re.split(r"[+<>]", mechanism)}
    for trait in (trait for trait in Trait if trait.name in occur):
        table.add_row(Text(trait.name, style="bold"), "", trait.value)
    note = "sp, fp: relative to the CFA, the caller's SP. CAPITALS: a lie. ?: unexplained. ~: in transition."
    return Group(Text(), table, Text(note, style="dim"))
