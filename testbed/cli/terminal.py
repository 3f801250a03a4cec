"""What the commands print with: the console, pictures of what was printed."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar, cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from testbed.cli import WIDTH
from testbed.cli.options import written
from testbed.native.machine_code import CODE
from testbed.words.printable import printable

if TYPE_CHECKING:  # loads the native evaluators
    from testbed.campaign.cells import Unit
    from testbed.contract.unwinder import Unwinder
    from testbed.runs.long import LongRun
    from testbed.runs.run import Run


# How far long work is: a bar on a terminal; elsewhere, as in a CI log, a line every few seconds.

T = TypeVar("T")

EVERY = 5.0  # seconds between two lines


@dataclass(eq=False)
class LongWork:
    """Work that is told how far it is; ``total`` None: nobody knows how much there is. ``noun`` is what is counted."""

    what: str
    noun: str
    total: int | None
    done: int = 0
    bar: tuple[Progress, TaskID] | None = field(default=None, repr=False)
    begun: float = field(default_factory=lambda: time.monotonic())
    said: float = field(default_factory=lambda: time.monotonic())

    def at(self, done: int, *, total: int | None = None, what: str | None = None) -> None:
        """So much is done; ``what`` is being done now."""
        self.done, self.total = done, self.total if total is None else total
        self.what = printable(what or self.what)
        if self.bar is not None:
            progress, task = self.bar
            progress.update(task, completed=done, total=self.total, description=self.what, told=str(self))
        elif (now := time.monotonic()) - self.said >= EVERY:
            self.said = now
            click.echo(f"{self.what}: {self}, {now - self.begun:.0f} s", err=True)

    def advance(self, what: str | None = None) -> None:
        """One more is done."""
        self.at(self.done + 1, what=what)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The items one by one: when the next one is asked for, one more is done."""
        for item in items:
            yield item
            self.advance()

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.done:,}{of} {self.noun}"


@contextmanager
def long_work(what: str, noun: str, total: int | None = None) -> Iterator[LongWork]:
    """Work that may take longer than a few seconds. On a terminal the first of all is told to wait for a compiler.

    There a process that works for another one says nothing: the terminal is the other one's.
    """
    if not sys.stderr.isatty():
        yield LongWork(what, noun, total)
        return
    from multiprocessing import parent_process  # loaded where there is a terminal

    if parent_process() is not None:
        yield LongWork(what, noun, total, said=inf)
        return
    if not any(CODE.files()):
        click.echo("compiling what judges, this once (15 to 60 seconds)", err=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(what), total=total, told="")
        yield LongWork(what, noun, total, bar=(progress, task))


class OfUnit(Protocol):
    """What came of one unit."""

    @property
    def unit(self) -> Unit: ...


OneUnits = TypeVar("OneUnits", bound=OfUnit)


def in_order(verb: str, units: Sequence[Unit], results: Iterable[OneUnits]) -> list[OneUnits]:
    """Results, which come as they are ready, in the order of their units, with a progress bar."""
    found: dict[Unit, OneUnits] = {}
    with long_work(verb, "units", len(units)) as progress:
        for result in results:
            found[result.unit] = result
            progress.advance(f"{verb} {result.unit}")
    return [found[unit] for unit in units]


_WIDEST = 10_000


class _ReportConsole(Console):
    """A console that leaves it to the command's edge to end where nobody reads on: its status is no finding's."""

    def on_broken_pipe(self) -> None:
        raise


def console_for_reports(**options: Any) -> Console:
    """The console that reports are printed on: as wide as the terminal, or as COLUMNS or 100 columns elsewhere."""
    console = _ReportConsole(highlight=False, markup=False, **options)
    if not console.is_terminal:
        console.width = _asked_width() or WIDTH
        console.file = cast("IO[str]", _WithoutPadding(sys.stdout))
    return console


def _asked_width() -> int | None:
    """COLUMNS, where it is set to a number of columns."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isascii() and said.isdecimal() and 0 < int(said) < _WIDEST else None


class _WithoutPadding:
    """Standard output in a file or a pipe: lines end where their text ends, not where a column does."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def status(what: str) -> AbstractContextManager[object]:
    """A line on a terminal that says what is going on, until the block ends; nothing anywhere else."""
    console = Console(stderr=True)
    return console.status(what) if console.is_terminal else nullcontext()


def save(console: Console, title: str, svg: Path | None) -> None:
    """Write what the console printed as an SVG that needs no network; nothing without a path."""
    if svg:
        from rich._export_format import CONSOLE_SVG_FORMAT

        # rich's frame names web fonts; a picture of ours needs no network.
        frame = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.S)
        with written(svg):
            console.save_svg(str(svg), title=title, clear=False, code_format=frame)


def disagrees(run: Run | LongRun) -> bool:
    """Say where the program declares other frames than were watched."""
    from testbed.truth.expectations import NOT_AS_DECLARED

    for disagreement in run.disagreements:
        click.echo(disagreement, err=True)
    if run.disagreements:
        click.echo(NOT_AS_DECLARED, err=True)
    return bool(run.disagreements)


def show_site(run: Run, step: int, unwinders: Sequence[Unwinder], **told: Any) -> bool:
    """Print one step in detail. True: nothing that is said there is unexplained."""
    from testbed.report.step_text import print_site
    from testbed.report.step_view import step_view

    view = step_view(run, step, unwinders)
    print_site(console_for_reports(), view, **told)
    return not any(answer.verdict.unexplained for answer in view.answers)
