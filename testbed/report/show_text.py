"""One step on the terminal, whole: code, registers, the stack drawn, the rows in force, every strategy's frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.contract.unwinder import Unwinder
from testbed.image import image_covering
from testbed.report.listing import CodeLine, listing
from testbed.report.phrases import activation_name, count, frame_pointer, stack_pointer
from testbed.report.site_text import frames_tables
from testbed.report.stack_drawing import StackWord, WordKind, changed_registers, draw_stack
from testbed.report.table_text import LEGEND, row_cells
from testbed.runs.run import Run

BEFORE, AFTER = 4, 4  # instructions shown around pc
WORDS_SHOWN = 48
_STYLES = {
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


def show_page(run: Run, step: int, unwinders: Sequence[Unwinder]) -> RenderableType:
    """Everything about one step, in 100 columns."""
    return Group(
        _title(run, step),
        _code(run, step),
        Text("\nregisters", style="bold"),
        _registers(run, step),
        Text("\nstack, highest address first", style="bold"),
        _stack(run, step),
        *_rows(run, step, unwinders),
        Text("\nwho called", style="bold"),
        frames_tables(run, step, unwinders),
    )


def _title(run: Run, step: int) -> Text:
    text = Text()
    text.append(f"{run.program.name} · {run.arch} · {run.recipe.name}", style="bold")
    text.append(f"   step {step} of 0 to {len(run) - 1}: {run.where(int(run.trace.pc[step]))}\n")
    for trait in sorted(run.words(step), key=lambda trait: trait.name):
        text.append(f"{trait.name}: {trait.value}\n", style="italic")
    return text


def _code(run: Run, step: int) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    pc = int(run.trace.pc[step])
    for line in listing(run).around(pc, BEFORE, AFTER):
        style = "bold" if line.pc == pc else "" if line.executed else "dim"
        pointer = "→" if line.pc == pc else " "
        table.add_row(pointer, Text(line.where, style=style), Text(line.text, style=style), _source(line))
    return table


def _source(line: CodeLine) -> Text:
    if line.source is None:
        return Text("")
    return Text(f"{line.source.line}: {line.source_text}" if line.source_text else str(line.source.line), "dim")


def _registers(run: Run, step: int) -> Text:
    changed = changed_registers(run, step)
    text = Text(f"sp = {stack_pointer(run, step)}, fp = {frame_pointer(run, step)}")
    if changed:
        parts = ", ".join(f"{name} {before:#x} → {now:#x}" for name, before, now in changed)
        text.append(f"; changed by step {step - 1}: {parts}")
    return text


def _stack(run: Run, step: int) -> RenderableType:
    drawing = draw_stack(run, step, limit=WORDS_SHOWN)
    table = Table.grid(padding=(0, 2, 0, 0))
    if drawing.elsewhere:
        table.add_row("", "", "", Text("the callers are on another stack", style="italic"), "")
    if drawing.left_out:
        table.add_row("", "", "", Text(f"{count(drawing.left_out, 'word')} further out", style="dim"), "")
    for entry in _folded(drawing.words):
        if isinstance(entry, int):
            table.add_row("", "", "", Text(f"{count(entry, 'more word')} like that", style="dim"), "")
            continue
        table.add_row(*_word_row(run, entry))
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


def _word_row(run: Run, word: StackWord) -> tuple[RenderableType, ...]:
    digits = 2 * run.arch.word
    style = _STYLES[word.kind]
    value = "" if word.value is None else f"{word.value:0{digits}x}"
    if word.kind is WordKind.UNTOUCHED:
        value = "·" * digits
    arrows = Text("← " + ", ".join(word.marks) if word.marks else "", style="bold")
    return (
        Text(f"{word.address:x}", "dim"),
        Text(word.kind.mark, style),
        Text(value, style),
        word_label(run, word),
        arrows,
    )


def word_label(run: Run, word: StackWord) -> Text:
    """What a word holds, in words, with the names of this run."""
    return Text(word_words(run, word), _STYLES[word.kind])


def word_words(run: Run, word: StackWord) -> str:
    """What a word holds: ``return to main+0x10``, ``x19 of main``, ``local of leaf``."""
    owner = activation_name(run, word.owner)
    match word.kind:
        case WordKind.RETURN_ADDRESS:
            assert word.value is not None
            address = run.arch.code_address(word.value)
            return f"return to {run.where(address, caller=address not in run.uncalled)}"
        case WordKind.SAVED_FP | WordKind.SAVED_REGISTER:
            assert word.saved_of is not None
            return f"{word.register} of {activation_name(run, word.saved_of)}"
        case WordKind.SIGNAL_FRAME if word.register and word.saved_of is not None:
            code = activation_name(run, word.saved_of)
            if word.changed:
                return f"signal frame: {word.register} of {code}, changed since"
            return f"signal frame: saved {word.register} of {code}"
        case WordKind.SIGNAL_FRAME:
            return "signal frame"
        case WordKind.UNTOUCHED if run.watched.activations[word.owner].signal:
            return "signal frame, not written"
        case WordKind.LOCAL:
            return f"local of {owner}"
        case WordKind.UNTOUCHED:
            return f"frame of {owner}, not written"
        case WordKind.RED_ZONE:
            return f"red zone of {owner}"
        case WordKind.BELOW:
            return "below SP"
        case WordKind.EDGE:
            return "SP at entry"


def _rows(run: Run, step: int, unwinders: Sequence[Unwinder]) -> list[RenderableType]:
    """The unwind row in force at pc, of every strategy that is a table."""
    pc = int(run.trace.pc[step])
    loaded = image_covering(run.trace.images, pc)
    tables = [unwinder for unwinder in unwinders if unwinder.rows is not None]
    if loaded is None or not tables:
        return []
    shown = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False)
    for column in ("row in force", "from", "CFA", "rules"):
        shown.add_column(column)
    same: dict[tuple[str, str, str], list[str]] = {}  # several formats often say the same
    for unwinder in tables:
        row, cfa, rules = row_cells(unwinder, loaded, pc)
        said = (run.where(row.start + loaded.bias) if row else "", cfa, rules)
        same.setdefault(said, []).append(unwinder.name)
    for said, names in same.items():
        shown.add_row(", ".join(names), *said)
    return [Text(), shown, Text(LEGEND, style="dim")]
