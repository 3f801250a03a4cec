"""Paired, interleaved rounds: every contender once per round, in an order that rotates, and ratios within a round.

Two things timed minutes apart on a shared machine differ by what else ran meanwhile. Timed one after the other, many
times over, each round gives one ratio; the median of these is the result, their range says how far to trust it.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Contender:
    """What is timed. ``prepare`` is called before each round, untimed; ``run`` gets what it made.

    ``units`` is how much work one run is (steps, frames, processes): times are divided by it, so a slow contender may
    do less.
    """

    units: float
    run: Callable[[object], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the range it is from."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(median(values), min(values), max(values))

    def scaled(self, factor: float) -> Spread:
        return Spread(self.median * factor, self.least * factor, self.most * factor)


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender: nanoseconds per unit, and how many times the baseline's, paired within each round."""

    nanoseconds: Spread
    ratio: Spread


Clock = Callable[[], int]


def children_ns() -> int:
    """The processor time, of user and system, of all child processes that have ended: a clock for whole processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(1e9 * (used.ru_utime + used.ru_stime))


def compare(
    contenders: Mapping[str, Contender], *, rounds: int, clock: Clock = time.perf_counter_ns
) -> dict[str, Measured]:
    """Time all contenders in ``rounds`` interleaved rounds, after one round that does not count.

    The first contender is the baseline of the ratios. ``clock`` gives nanoseconds: of the wall, unless told otherwise.
    """
    names = list(contenders)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-1, rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            contender = contenders[name]
            made = contender.prepare()
            gc.collect()
            start = clock()
            contender.run(made)
            taken = (clock() - start) / contender.units
            if turn >= 0:
                times[name].append(taken)
    base = times[names[0]]
    return {
        name: Measured(Spread.of(taken), Spread.of([mine / its for mine, its in zip(taken, base, strict=True)]))
        for name, taken in times.items()
    }
