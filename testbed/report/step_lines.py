"""Steps as lines: one mark per unwinder, the unwinders' names as a staircase above their columns.

::

          ┌ fp_chain
          │ ┌ eh_frame, sframe
    step  │ │  pc           instruction         sp   fp
       3  E .  main         push rbp            cfa  0

Unwinders that are right and wrong at the same steps share a column. What a terminal is too narrow for is left out
with a sentence that says so; marks are never: their columns go on in another block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from testbed.campaign.cells import Cell
from testbed.report.phrases import STYLES, frame_pointer, stack_pointer
from testbed.runs.run import Run
from testbed.verdicts.trace import EXACT, Verdicts
from testbed.verdicts.verdict import ACCORDS, OUTCOMES, Verdict

Judged = Sequence[tuple[Cell, Sequence[Verdict]]]
Marks = NDArray[np.uint8]  # an index of OUTCOMES each, plus the two below
UNEXPLAINED, TRANSITION = 64, 128
_IS_UNEXPLAINED = np.array([accord.unforetold for accord in ACCORDS])  # by place in ACCORDS
_MOST_PC, _LEAST_PC, _MOST_CODE, _LEAST_CODE = 30, 14, 34, 16


@dataclass(frozen=True, eq=False)
class MarkColumn:
    """What one or several unwinders are at every step of a run."""

    names: tuple[str, ...]
    marks: Marks = field(repr=False)


def mark_columns(judged: Judged) -> tuple[MarkColumn, ...]:
    """The columns of a run, those that are equal at every step as one."""
    folded: dict[bytes, tuple[list[str], Marks]] = {}
    for cell, verdicts in judged:
        marks = marks_of(verdicts)
        folded.setdefault(marks.tobytes(), ([], marks))[0].append(cell.unwinder)
    return tuple(MarkColumn(tuple(names), marks) for names, marks in folded.values())


def marks_of(verdicts: Sequence[Verdict]) -> Marks:
    """What an unwinder is at every step: the index of its outcome, plus `UNEXPLAINED` or `TRANSITION` where it is."""
    if isinstance(verdicts, Verdicts):
        differs = _IS_UNEXPLAINED[verdicts.accord] & ~verdicts.transition
        marks: Marks = (verdicts.outcome + UNEXPLAINED * differs + TRANSITION * verdicts.transition).astype(np.uint8)
        return marks
    return np.fromiter((_mark(verdict) for verdict in verdicts), np.uint8, len(verdicts))


def _mark(verdict: Verdict) -> int:
    outcome = OUTCOMES.index(verdict.outcome)
    if verdict.transition:
        return outcome + TRANSITION
    return outcome + (UNEXPLAINED if verdict.accord.unforetold else 0)


def differing(columns: Sequence[MarkColumn]) -> NDArray[np.int64]:
    """The steps at which some unwinder is not exact."""
    steps = len(columns[0].marks) if columns else 0
    found = np.zeros(steps, np.bool_)
    for column in columns:
        found |= (column.marks != EXACT) & (column.marks < TRANSITION)
    return np.flatnonzero(found)


def first_visits(run: Run, columns: Sequence[MarkColumn], steps: NDArray[np.int64]) -> Mapping[int, int]:
    """Of some steps the first at each instruction with each row of marks, in order, and how many are like it."""
    kinds: NDArray[np.int64] = np.unique(run.trace.pc[steps], return_inverse=True)[1].astype(np.int64)
    for column in columns:
        kinds = np.unique(kinds * 256 + column.marks[steps], return_inverse=True)[1].astype(np.int64)
    _, first, count = np.unique(kinds, return_index=True, return_counts=True)
    order = np.argsort(first)
    return dict(zip(steps[first[order]].tolist(), count[order].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class StepLines:
    """Some steps of a run, for the terminal. ``visits`` are how many steps each line stands for, {} where one each."""

    run: Run
    columns: tuple[MarkColumn, ...]
    steps: Sequence[int]
    visits: Mapping[int, int] = field(default_factory=dict)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = [self._row(step, before) for before, step in zip((None, *self.steps), self.steps, strict=False)]
        number = max(4, *(len(row[0]) for row in rows)) if rows else 4
        room = max(options.max_width - number - 4 - _LEAST_PC - 2, 4) // 2
        for first in range(0, max(len(self.columns), 1), room):
            if first:
                yield Text()
            yield from self._block(rows, number, self.columns[first : first + room], options.max_width)

    def _row(self, step: int, before: int | None) -> tuple[str, str, str, str, str]:
        """Step, pc, instruction, sp and fp; the last two where they are not as in the line before."""
        run = self.run
        depth = " " * min(len(run.truth(step)) - 1, 4)
        sp, fp = stack_pointer(run, step), frame_pointer(run, step)
        if before is not None and run.watched.node[before] == run.watched.node[step]:
            sp, fp = sp * (sp != stack_pointer(run, before)), fp * (fp != frame_pointer(run, before))
        times = self.visits.get(step, 1)
        number = f"{step}" if times == 1 else f"{step} ×{times}"
        return number, depth + run.where(int(run.trace.pc[step])), run.instruction(step), sp, fp

    def _block(
        self, rows: Sequence[tuple[str, str, str, str, str]], number: int, columns: Sequence[MarkColumn], width: int
    ) -> Iterator[Text]:
        room = width - number - 4 - 2 * len(columns)
        widths, left_out = _widths(rows, room)
        indent = " " * (number + 2)
        yield from (Text(indent + line, "bold") for line in _staircase(columns, width - len(indent)))
        heads = ("step", "pc", "instruction", "sp", "fp")
        bars = "│ " * len(columns)
        shown = "  ".join(head.ljust(w) for head, w in zip(heads[1:], widths, strict=False))
        yield Text(f"{heads[0]:>{number}}  {bars} {shown}".rstrip(), "bold")
        for step, row in zip(self.steps, rows, strict=True):
            line = Text(f"{row[0]:>{number}}  ", "dim")
            for column in columns:
                mark, style = shown_mark(int(column.marks[step]))
                line.append(f"{mark:<2}", style)
            cut = (cell if len(cell) <= w else f"{cell[: w - 1]}…" for cell, w in zip(row[1:], widths, strict=False))
            cells = (cell.ljust(w) for cell, w in zip(cut, widths, strict=False))
            line.append(" " + "  ".join(cells).rstrip())
            yield line
        if left_out:
            yield Text(f"({left_out} left out: {width} columns are too few)", "dim")


def shown_mark(mark: int) -> tuple[str, str]:
    """A mark as a letter, with ``?`` where nothing explains it, and its style."""
    if mark >= TRANSITION:
        return "~", "dim"
    outcome = OUTCOMES[mark % UNEXPLAINED]
    return outcome.mark + ("?" if mark >= UNEXPLAINED else ""), STYLES[outcome]


def _staircase(columns: Sequence[MarkColumn], width: int) -> Iterator[str]:
    """The names above their columns, each on lines of its own."""
    for k, column in enumerate(columns):
        lines = wrap(", ".join(column.names), max(width - 2 * k - 2, 12), break_on_hyphens=False)
        for first, line in zip((True, *(False,) * len(lines)), lines, strict=False):
            yield "│ " * k + ("┌ " if first else "│ ") + line


def _widths(rows: Sequence[Sequence[str]], room: int) -> tuple[list[int], str]:
    """How wide pc, instruction, sp and fp may be, with two blanks between them, and which do not fit at all."""
    heads = ("pc", "instruction", "sp", "fp")
    natural = [max([len(head), *(len(row[i + 1]) for row in rows)]) for i, head in enumerate(heads)]
    widths = [min(natural[0], _MOST_PC), min(natural[1], _MOST_CODE), *natural[2:]]
    for shrunk, least in ((1, _LEAST_CODE), (0, _LEAST_PC)):
        over = sum(widths) + 2 * (len(widths) - 1) - room
        widths[shrunk] = max(widths[shrunk] - max(over, 0), min(least, widths[shrunk]))
    while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    widths[0] = max(min(widths[0], room), 4)
    return widths, " and ".join(heads[len(widths) :])
