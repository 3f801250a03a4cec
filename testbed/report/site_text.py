"""One site on the terminal: the registers that matter, the true stack, and each strategy's beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.campaign.names import true_frames
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.image.debug.tail_chains import Certainty
from testbed.naming.symbolize import Origin, symbolize
from testbed.report.phrases import FRAME_STYLES, STYLES, frame_pointer, stack_pointer
from testbed.runs.frames_beside import LEGEND, told
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.verdicts.one import Verdict


def print_site(
    console: Console,
    run: Run,
    step: int,
    unwinders: Sequence[Unwinder],
    *,
    title: str | None = None,
    number: int | None = None,
    explain: bool = False,
) -> bool:
    """Print one step: where it is, what is true there, and every strategy's frames beside the true ones.

    True: nothing that was said there is unexplained.

    ``explain``: with the meaning of each word about the site. ``title`` and ``number`` are what run and step are
    called, where ``run`` is a piece of a long one.
    """
    snapshot = run[step]
    console.print(Text(title or str(run), style="bold"))
    console.print(f"step {step if number is None else number}: {run.where(snapshot.pc)}   {run.instruction(step)}")
    console.print(f"sp = {stack_pointer(run, step)}, fp = {frame_pointer(run, step)}")
    words = sorted(run.words(step), key=lambda word: word.name)
    if explain:
        for word in words:
            console.print(f"{word.name}: {word.value}", style="italic")
    elif words:
        console.print(
            f"what holds here (--explain says what it means): {', '.join(w.name for w in words)}", style="dim"
        )
    console.print()
    asked = _asked(run, step, unwinders)
    console.print(_tables(run, step, asked))
    return not any(each.verdict.unexplained for each in asked)


def frames_tables(run: Run, step: int, unwinders: Sequence[Unwinder]) -> RenderableType:
    """The true frames, then every strategy's, the differing ones marked; below, what differs first and why."""
    return _tables(run, step, _asked(run, step, unwinders))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a strategy said at a step, and the verdict on it."""

    unwinder: Unwinder
    said: Backtrace
    verdict: Verdict


def _asked(run: Run, step: int, unwinders: Sequence[Unwinder]) -> list[_Asked]:
    snapshot = run[step]
    said = [(unwinder, unwinder.unwind(snapshot)) for unwinder in unwinders]
    return [_Asked(unwinder, each, judge(run, snapshot, each, unwinder)) for unwinder, each in said]


def _tables(run: Run, step: int, answers: Sequence[_Asked]) -> RenderableType:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for title in ("strategy", "verdict", "says"):
        table.add_column(title)
    for answer in answers:
        label = Text(answer.verdict.outcome.label, style=STYLES[answer.verdict.outcome])
        table.add_row(answer.unwinder.name, label, _said(run, step, answer.said))
    notes = [
        Text(f"{answer.unwinder.name}: {run.difference(answer.verdict)}. {run.why(answer.verdict, step)}".rstrip())
        for answer in answers
        if not answer.verdict.exact
    ]
    legend = [Text(LEGEND, "dim"), Text()] if notes else []
    return Group(*_true_stack(run, step), Text(), table, *legend, *notes)


def _true_stack(run: Run, step: int) -> Iterator[RenderableType]:
    """The true frames, and between them the calls of the source that left none: inlined, tail-called, or unsure."""
    said = symbolize(run.trace.images, true_frames(run, step))
    lined = any(frame.line for frame in said.frames)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("the true stack")
    if lined:
        table.add_column("source")
    for frame in said.frames:
        physical = frame.origin is Origin.PHYSICAL
        root = "  (root)" if physical and frame.physical == len(run.truth(step)) - 1 else ""
        name = frame.place + root if physical else str(frame)
        place = (f"{frame.line.name}:{frame.line.line}" if frame.line else "",) if lined else ()
        table.add_row(str(frame.physical) if physical else "", Text(name, "" if physical else "italic"), *place)
    yield table
    for unsure in said.unsure:
        if unsure.certainty is Certainty.AMBIGUOUS:
            yield Text(f"above frame {unsure.physical}: {unsure}", style="italic")


def _said(run: Run, step: int, backtrace: Backtrace) -> Text:
    """The frames as a strategy has them, innermost first, beside the true ones, and the end."""
    parts = [Text(text, style=FRAME_STYLES[place]) for place, text in told(run, step, backtrace)]
    end = Text(" (root)" if backtrace.stopped is None else f" < stops: {backtrace.stopped.reason}")
    return Text(" < ").join(parts) + end
