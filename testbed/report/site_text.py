"""One site on the terminal: the registers that matter, the true stack, and each strategy's beside it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.image.debug.tail_chains import Certainty
from testbed.judge_names import true_frames
from testbed.report.words import STYLES, frame_pointer, stack_pointer
from testbed.run import Run, judge
from testbed.symbolize import symbolize
from testbed.unwinder import Backtrace, Unwinder


def print_site(console: Console, run: Run, step: int, unwinders: Sequence[Unwinder]) -> None:
    """Print one step: where it is, what is true there, and every strategy's frames beside the true ones."""
    snapshot = run[step]
    console.print(Text(str(run), style="bold"))
    console.print(f"step {step}: {run.where(snapshot.pc)}   {run.instruction(step)}")
    console.print(f"sp = {stack_pointer(run, step)}, fp = {frame_pointer(run, step)}")
    for trait in sorted(run.traits(step), key=lambda t: t.name):
        console.print(f"{trait.name}: {trait.value}", style="italic")
    console.print()
    console.print(frames_tables(run, step, unwinders))
    print_source_calls(console, run, step)


def frames_tables(run: Run, step: int, unwinders: Sequence[Unwinder]) -> RenderableType:
    """The true frames, then every strategy's, the differing ones marked; below, what differs first and why."""
    snapshot = run[step]
    truth = [frame.pc for frame in run.truth(step).frames]
    said = [unwinder.unwind(snapshot) for unwinder in unwinders]
    verdicts = [judge(run, snapshot, backtrace, unwinder) for backtrace, unwinder in zip(said, unwinders, strict=True)]
    stack = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    stack.add_column("#", justify="right")
    stack.add_column("the true stack")
    for i in range(len(truth)):
        stack.add_row(str(i), _name(run, truth, i) + ("  (root)" if i == len(truth) - 1 else ""))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for title in ("strategy", "verdict", "says (≠: not the true frame)"):
        table.add_column(title)
    for unwinder, backtrace, verdict in zip(unwinders, said, verdicts, strict=True):
        label = Text(verdict.outcome.label, style=STYLES[verdict.outcome])
        table.add_row(unwinder.name, label, _said(run, backtrace, truth))
    notes = []
    for unwinder, verdict in zip(unwinders, verdicts, strict=True):
        if not verdict.exact:
            limit = verdict.explained_by
            why = f"{limit.trait.name}: {limit.because} ({limit.reference})" if limit else "UNEXPLAINED"
            notes.append(Text(f"{unwinder.name}: {verdict.difference}. {why}"))
    return Group(stack, Text(), table, Text(), *notes)


def print_source_calls(console: Console, run: Run, step: int) -> None:
    """The calls that a reader of the source expects there; nothing where the file has no debug information."""
    names = symbolize(run.trace.images, true_frames(run, step))
    if not any(frame.line for frame in names.frames):
        return
    console.print("in the source:")
    for frame in names.frames:
        console.print(Text(f"  {frame}" + (f"   {frame.line}" if frame.line is not None else "")))
    for unsure in names.unsure:
        if unsure.certainty is Certainty.AMBIGUOUS:
            console.print(Text(f"  above frame {unsure.physical}: {unsure}", style="italic"))


def _name(run: Run, pcs: Sequence[int], i: int) -> str:
    return run.where(pcs[i], caller=i > 0)


def _said(run: Run, backtrace: Backtrace, truth: Sequence[int]) -> Text:
    """The frames as a strategy has them, innermost first, each marked where it is not the true one, and the end."""
    pcs = [frame.pc for frame in backtrace.frames]
    parts = []
    for i in range(len(pcs)):
        same = i < len(truth) and truth[i] == pcs[i]
        parts.append(Text(_name(run, pcs, i) + ("" if same else " ≠"), style="" if same else "bold red"))
    parts.append(Text("(root)" if backtrace.stopped is None else f"stops: {backtrace.stopped.reason}"))
    return Text(" < ").join(parts)
