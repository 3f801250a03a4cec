"""Timers: how often a time has come by one of the clocks; and what is known of those that send signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Timer:
    """It goes off at ``first`` by the clock ``now``, in nanoseconds, then ``every`` so many; ``taken`` were told."""

    now: Callable[[], int]
    first: int | None = None
    every: int = 0
    taken: int = 0

    @property
    def times(self) -> int:
        """How often it has gone off since it was set, and nobody was told."""
        return self._times - self.taken

    @property
    def _times(self) -> int:
        if self.first is None or self.now() < self.first:
            return 0
        return 1 + ((self.now() - self.first) // self.every if self.every else 0)

    @property
    def left(self) -> int | None:
        """How long it takes till it goes off next."""
        times = self._times
        if self.first is None or (times and not self.every):
            return None
        return self.first + times * self.every - self.now()

    def set(self, first: int | None, every: int) -> None:
        """From now on it goes off then; never with None."""
        self.first, self.every, self.taken = first, every, 0

    def take(self) -> int:
        """How often it has gone off; somebody is told now."""
        new, self.taken = self.times, self._times
        return new


@dataclass(eq=False)
class SignalTimer(Timer):
    """A timer of a process that sends it a signal; None: it sends none.

    ``number`` is what ``timer_create`` gave it, and ``value`` what it was given to tell; both None for an interval
    timer. ``thread`` is the only one that gets the signal. ``sleeps``: its clock goes on while nobody runs.
    ``overrun`` is how often it had gone off besides when the signal was taken last.
    """

    signal: int | None = field(kw_only=True)
    sleeps: bool = field(kw_only=True)
    number: int | None = None
    value: int = 0
    thread: int | None = None
    overrun: int = 0
