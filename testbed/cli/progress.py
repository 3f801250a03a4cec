"""How far long work is: a bar on a terminal; elsewhere, as in a CI log, a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from testbed.native.machine_code import CODE

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
        self.done, self.total, self.what = done, self.total if total is None else total, what or self.what
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
    """Work that may take longer than a few seconds. On a terminal the first of all is told to wait for a compiler."""
    if not sys.stderr.isatty():
        yield LongWork(what, noun, total)
        return
    if not any(CODE.files()):
        click.echo("compiling what judges, this once (15 to 60 seconds)", err=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total, told="")
        yield LongWork(what, noun, total, bar=(progress, task))
