"""One site on the terminal: the registers that matter, the true stack, and each strategy's beside it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.report.words import STYLES, frame_pointer, stack_pointer
from testbed.run import Run, judge
from testbed.unwinder import Backtrace, Unwinder


def print_site(console: Console, run: Run, step: int, unwinders: Sequence[Unwinder]) -> None:
    """Print one step: where it is, what is true there, and every strategy's frames beside the true ones."""
    snapshot = run[step]
    console.print(Text(str(run), style="bold"))
    console.print(f"step {step}: {run.where(snapshot.pc)}   {run.instruction(step)}")
    console.print(f"sp = {stack_pointer(run, step)}, fp = {frame_pointer(run, step)}")
    for trait in sorted(run.traits(step), key=lambda t: t.name):
        console.print(f"{trait.name}: {trait.value}", style="italic")
    truth = [frame.pc for frame in run.truth(step).frames]
    said = [unwinder.unwind(snapshot) for unwinder in unwinders]
    verdicts = [judge(run, snapshot, backtrace, unwinder) for backtrace, unwinder in zip(said, unwinders, strict=True)]
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("truth")
    for unwinder in unwinders:
        table.add_column(unwinder.name)
    for i in range(max([len(truth), *(len(backtrace.frames) for backtrace in said)]) + 1):
        row = [_name(run, truth, i) if i < len(truth) else "(root)" if i == len(truth) else ""]
        table.add_row(str(i), *row, *(_said(run, backtrace, truth, i) for backtrace in said))
    table.add_row("", "", *(Text(verdict.outcome.label, style=STYLES[verdict.outcome]) for verdict in verdicts))
    console.print(table)
    for unwinder, verdict in zip(unwinders, verdicts, strict=True):
        if not verdict.exact:
            limit = verdict.explained_by
            why = f"{limit.trait.name}: {limit.because} ({limit.reference})" if limit else "UNEXPLAINED"
            console.print(Text(f"{unwinder.name}: {verdict.difference}. {why}"))


def _name(run: Run, pcs: Sequence[int], i: int) -> str:
    return run.where(pcs[i], caller=i > 0)


def _said(run: Run, backtrace: Backtrace, truth: Sequence[int], i: int) -> Text:
    """Frame ``i`` as a strategy has it, marked where it is not the true one."""
    pcs = [frame.pc for frame in backtrace.frames]
    if i < len(pcs):
        same = i < len(truth) and truth[i] == pcs[i]
        return Text(_name(run, pcs, i) + ("" if same else " ≠"), style="" if same else "bold red")
    if i > len(pcs):
        return Text("")
    return Text("(root)" if backtrace.stopped is None else f"stops: {backtrace.stopped.reason}")
