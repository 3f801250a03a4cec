"""One step on the terminal: the stack and what unwinders say of it (`testbed run --at`), or whole (`--machine`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from testbed.image.debug.tail_chains import Certainty
from testbed.naming.symbolize import Origin
from testbed.report.narrow_tables import ruled_table
from testbed.report.phrases import FRAME_STYLES, STYLES, count
from testbed.report.stack_drawing import StackWord, WordKind
from testbed.report.step_view import CodeLine, StepAnswer, StepView
from testbed.report.table_text import LEGEND as ROW_LEGEND
from testbed.runs.frames_beside import legend

BEFORE, AFTER = 4, 4  # instructions shown around pc
WORDS_SHOWN = 48
WORD_STYLES = {
    WordKind.RETURN_ADDRESS: "bold cyan",
    WordKind.SAVED_FP: "green",
    WordKind.SAVED_REGISTER: "green",
    WordKind.SIGNAL_FRAME: "magenta",
    WordKind.LOCAL: "",
    WordKind.UNTOUCHED: "dim",
    WordKind.EARLIER: "dim",
    WordKind.RED_ZONE: "yellow",
    WordKind.BELOW: "dim",
    WordKind.EDGE: "dim",
}


def step_page(view: StepView) -> RenderableType:
    """Everything about one step, in 100 columns."""
    words = [Text(f"{word}: {meaning}\n", "italic") for word, meaning in view.words]
    return Group(
        Text.assemble((view.title, "bold"), f"   {view.number}\n", *words),
        _code(view),
        Text("\nregisters", style="bold"),
        Text(view.frame + _changed(view)),
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
    console.print(f"step {view.step if number is None else number:,}: {view.where}   {view.instruction}")
    console.print(view.frame)
    if explain:
        for word, meaning in view.words:
            console.print(f"{word}: {meaning}", style="italic")
    elif view.words:
        names = ", ".join(word for word, _ in view.words)
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
    rows = ((", ".join(row.names), *row[1:]) for row in view.rows)
    shown = ruled_table(("row in force", "from", "CFA", "rules"), rows, padding=(0, 2, 0, 0))
    return [Text(), shown, Text(ROW_LEGEND, style="dim")]


def _callers(view: StepView) -> Iterator[RenderableType]:
    """The true frames, then every unwinder's, the differing ones marked; below, what differs first and why."""
    yield from _true_stack(view)
    outcomes = ((answer, answer.verdict.outcome) for answer in view.answers)
    rows = ((answer.unwinder.name, Text(of.label, style=STYLES[of]), said_line(answer)) for answer, of in outcomes)
    yield from (Text(), ruled_table(("unwinder", "verdict", "says"), rows))
    if wrong := [answer for answer in view.answers if not answer.verdict.exact]:
        labels: dict[str, dict[str, None]] = {}
        for answer in wrong:
            labels.setdefault(answer.verdict.outcome.family, {})[answer.verdict.outcome.label] = None
        words = "; ".join(f"{', '.join(found)}: {family}" for family, found in labels.items()) + "."
        marks = legend(frame for answer in view.answers for _, frame in answer.told)
        yield from (Text(f"{words} {marks}".rstrip(), "dim"), Text())
        yield from (
            Text(f"{each.unwinder.name}: {'; '.join(filter(None, (each.difference, each.why)))}") for each in wrong
        )


def _true_stack(view: StepView) -> Iterator[RenderableType]:
    """The true frames, and between them the calls of the source that left none: inlined, tail-called, or unsure."""
    lined = any(frame.line for frame in view.named.frames)
    table = ruled_table((Column("#", justify="right"), "the true stack", *("source",) * lined))
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
