"""One step on the terminal: the stack and what unwinders say of it (`testbed run --at`), or whole (`--machine`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from testbed.campaign.results import Cell
from testbed.image.debug.tail_chains import Certainty
from testbed.naming.symbolize import Origin
from testbed.report.listing import CodeLine
from testbed.report.phrases import FRAME_STYLES, STYLES, count, frame_pointer, stack_pointer
from testbed.report.stack_drawing import StackWord, WordKind
from testbed.report.step_view import StepAnswer, StepView
from testbed.report.table_text import LEGEND as ROW_LEGEND
from testbed.runs.frames_beside import LEGEND
from testbed.runs.run import Run
from testbed.verdicts.counts import ACCORDS, OUTCOMES
from testbed.verdicts.one import Verdict
from testbed.verdicts.trace import EXACT, Verdicts

# Steps as lines: one mark per unwinder, the unwinders' names as a staircase above their columns.
#
# ::
#
#           ┌ fp_chain
#           │ ┌ eh_frame, sframe
#     step  │ │  pc           instruction         sp   fp
#        3  E .  main         push rbp            cfa  0
#
# Unwinders that are right and wrong at the same steps share a column. What a terminal is too narrow for is left out
# with a sentence that says so; marks are never: their columns go on in another block.

Judged = Sequence[tuple[Cell, Sequence[Verdict]]]
Marks = NDArray[np.uint8]  # an index of OUTCOMES each, plus the two below
UNEXPLAINED, TRANSITION = 64, 128
_IS_UNEXPLAINED = np.array([accord.unexplained for accord in ACCORDS])  # by place in ACCORDS
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
    return outcome + (UNEXPLAINED if verdict.unexplained else 0)


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


BEFORE, AFTER = 4, 4  # instructions shown around pc
WORDS_SHOWN = 48
WORD_STYLES = {
    WordKind.RETURN_ADDRESS: "bold cyan",
    WordKind.SAVED_FP: "green",
    WordKind.SAVED_REGISTER: "green",
    WordKind.SIGNAL_FRAME: "magenta",
    WordKind.LOCAL: "",
    WordKind.UNTOUCHED: "dim",
    WordKind.RED_ZONE: "yellow",
    WordKind.BELOW: "dim",
    WordKind.EDGE: "dim",
}


def step_page(view: StepView) -> RenderableType:
    """Everything about one step, in 100 columns."""
    words = [Text(f"{word.name}: {word.value}\n", "italic") for word in view.words]
    return Group(
        Text.assemble((view.title, "bold"), f"   {view.number}\n", *words),
        _code(view),
        Text("\nregisters", style="bold"),
        Text(f"sp = {view.sp}, fp = {view.fp}{_changed(view)}"),
        Text("\nstack, highest address first", style="bold"),
        _stack(view),
        *_rows(view),
        Text("\nwho called", style="bold"),
        *_callers(view),
    )


def print_site(
    console: Console, view: StepView, *, title: str | None = None, number: int | None = None, explain: bool = False
) -> None:
    """Print one step: where it is, what is true there, and every unwinder's frames beside the true ones.

    ``explain``: with the meaning of each word about the site. ``title`` and ``number`` are what run and step are
    called, where the run is a piece of a long one.
    """
    console.print(Text(title or str(view.run), style="bold"))
    console.print(f"step {view.step if number is None else number}: {view.where}   {view.instruction}")
    console.print(f"sp = {view.sp}, fp = {view.fp}")
    if explain:
        for word in view.words:
            console.print(f"{word.name}: {word.value}", style="italic")
    elif view.words:
        names = ", ".join(word.name for word in view.words)
        console.print(f"what holds here (--explain says what it means): {names}", style="dim")
    console.print()
    console.print(Group(*_callers(view)))


def _code(view: StepView) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for line in view.code(BEFORE, AFTER):
        style = "bold" if line.pc == view.pc else "" if line.executed else "dim"
        pointer = "→" if line.pc == view.pc else " "
        table.add_row(pointer, Text(line.where, style=style), Text(line.text, style=style), _source(line))
    return table


def _source(line: CodeLine) -> Text:
    if line.source is None:
        return Text("")
    return Text(f"{line.source.line}: {line.source_text}" if line.source_text else str(line.source.line), "dim")


def _changed(view: StepView) -> str:
    parts = ", ".join(f"{name} {before:#x} → {now:#x}" for name, before, now in view.changed)
    return f"; changed by step {view.step - 1}: {parts}" if parts else ""


def _stack(view: StepView) -> RenderableType:
    drawing, digits = view.stack.nearest(WORDS_SHOWN), 2 * view.run.arch.word
    table = Table.grid(padding=(0, 2, 0, 0))
    if drawing.elsewhere:
        table.add_row("", "", "", Text("the callers are on another stack", style="italic"), "")
    if drawing.left_out:
        table.add_row("", "", "", Text(f"{count(drawing.left_out, 'word')} further out", style="dim"), "")
    for entry in _folded(drawing.words):
        if isinstance(entry, int):
            table.add_row("", "", "", Text(f"{count(entry, 'more word')} like that", style="dim"), "")
            continue
        style, value = WORD_STYLES[entry.kind], "" if entry.value is None else f"{entry.value:0{digits}x}"
        if entry.kind is WordKind.UNTOUCHED:
            value = "·" * digits
        arrows = Text("← " + ", ".join(entry.marks) if entry.marks else "", style="bold")
        cells = (Text(entry.kind.mark, style), Text(value, style), Text(entry.label, style))
        table.add_row(Text(f"{entry.address:x}", "dim"), *cells, arrows)
    return table


def _folded(words: Sequence[StackWord]) -> Iterator[StackWord | int]:
    """From the highest address down; a run of unwritten words is shown by its first and a count."""
    pending = 0
    before: StackWord | None = None
    for word in reversed(words):
        same = before is not None and word.kind is before.kind is WordKind.UNTOUCHED and word.owner == before.owner
        if same and not word.marks:
            pending += 1
            continue
        if pending:
            yield pending
        pending, before = 0, word
        yield word
    if pending:
        yield pending


def _rows(view: StepView) -> list[RenderableType]:
    """The unwind row in force at pc, of every unwinder that is a table."""
    if not view.rows:
        return []
    shown = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False)
    for column in ("row in force", "from", "CFA", "rules"):
        shown.add_column(column)
    for row in view.rows:
        shown.add_row(", ".join(row.names), *row[1:])
    return [Text(), shown, Text(ROW_LEGEND, style="dim")]


def _callers(view: StepView) -> Iterator[RenderableType]:
    """The true frames, then every unwinder's, the differing ones marked; below, what differs first and why."""
    yield from _true_stack(view)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for title in ("unwinder", "verdict", "says"):
        table.add_column(title)
    for answer in view.answers:
        label = Text(answer.verdict.outcome.label, style=STYLES[answer.verdict.outcome])
        table.add_row(answer.unwinder.name, label, said_line(answer))
    yield from (Text(), table)
    if wrong := [answer for answer in view.answers if not answer.verdict.exact]:
        yield from (Text(LEGEND, "dim"), Text())
        yield from (Text(f"{each.unwinder.name}: {each.difference}. {each.why}".rstrip()) for each in wrong)


def _true_stack(view: StepView) -> Iterator[RenderableType]:
    """The true frames, and between them the calls of the source that left none: inlined, tail-called, or unsure."""
    lined = any(frame.line for frame in view.named.frames)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("the true stack")
    if lined:
        table.add_column("source")
    for frame in view.named.frames:
        physical = frame.origin is Origin.PHYSICAL
        root = "  (root)" if physical and frame.physical == len(view.true_places) - 1 else ""
        name = frame.place + root if physical else str(frame)
        place = (f"{frame.line.name}:{frame.line.line}" if frame.line else "",) if lined else ()
        table.add_row(str(frame.physical) if physical else "", Text(name, "" if physical else "italic"), *place)
    yield table
    for unsure in view.named.unsure:
        if unsure.certainty is Certainty.AMBIGUOUS:
            yield Text(f"above frame {unsure.physical}: {unsure}", style="italic")


def said_line(answer: StepAnswer) -> Text:
    """The frames as an unwinder has them, innermost first, beside the true ones, and the end."""
    parts = [Text(text, style=FRAME_STYLES[place]) for place, text in answer.told]
    return Text(" < ").join(parts) + Text(f"{' ' if answer.said.stopped is None else ' < '}{answer.end}")
