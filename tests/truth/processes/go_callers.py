"""Go's own traceback beside the truth: what `runtime.Callers` left in memory, at the step at which it returned.

The program keeps each answer in `main.answers`, zero behind it, and how many calls there were in `main.asked`. An
answer begins in `runtime.Callers` itself and goes on with return addresses, as the truth does, but::

    an inlined call         is an entry of its own, behind that of the function it is in
    a frame that faulted    is told by the address behind the first byte of the instruction that did not execute
    a wrapper               that the compiler made is left out
    C, and what calls it    is left out: Go has no table of it
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from testbed.image import Image, describe
from testbed.image.go_functions import function_table, functions, name_at
from testbed.process import ProcessRun
from testbed.truth import CallStack, Truth, observe

ENTRIES = 96  # of one answer: as the sources have it


class GoPlaces:
    """The functions of a Go program's own table; the highest funcID is that of wrappers."""

    def __init__(self, image: Image) -> None:
        table = function_table(image.sections)
        entries = list(functions(table))
        self.named = [(each.start, each.end, name_at(table, each.name)) for each in entries]
        self._starts = [start for start, _, _ in self.named]
        at = 40 if table.magic == 0xFFFFFFF1 else 36
        ids = {name: table.data[each.record + at] for each, (_, _, name) in zip(entries, self.named, strict=True)}
        self.wrappers = frozenset(name for name, number in ids.items() if number == max(ids.values()))

    def at(self, pc: int) -> str | None:
        """The name of the function around an address; None: it is none of Go's."""
        i = bisect_right(self._starts, pc) - 1
        return self.named[i][2] if i >= 0 and pc < self.named[i][1] else None


@dataclass(frozen=True)
class Asked:
    """One answer: its addresses, without the one in `runtime.Callers`, and the truth when it came."""

    number: int
    addresses: tuple[int, ...]
    stack: CallStack
    places: GoPlaces

    @cached_property
    def differences(self) -> tuple[str, ...]:
        """What one has and the other has not, by name, innermost first."""
        found, left = [], list(self.addresses)
        frames = self.stack.frames
        faulted = [False, *(self.places.at(frame.lookup_pc) == "runtime.sigpanic" for frame in frames)]
        wanted = [frame.pc + is_so for frame, is_so in zip(frames, faulted, strict=False)]
        for frame, pc in zip(frames, wanted, strict=True):
            if pc not in left:
                name = self._name(frame.pc)
                found += [] if name in self.places.wrappers else [f"only true: {name}"]
                continue
            at = left.index(pc)
            found += [f"only Go's: {self._name(each)}" for each in left[:at]]
            left = left[at + 1 :]
            own = self.places.at(pc - 1)
            while left and left[0] not in wanted and self.places.at(left[0] - 1) == own:
                left.pop(0)
        return (*found, *(f"only Go's: {self._name(pc)}" for pc in left))

    def _name(self, pc: int) -> str:
        return self.places.at(pc - 1) or describe(self.stack.images, pc, caller=True).partition("+")[0]


def answers(run: ProcessRun) -> Iterator[Asked]:
    """Each call of `runtime.Callers` of a run, by threads and steps."""
    image, word = run.images[0].image, run.arch.word
    places = GoPlaces(image)
    table, count = (image.symbol_named(f"main.{name}") for name in ("answers", "asked"))
    assert table is not None and count is not None
    for track in run.tracks:
        truth = observe(track.trace)
        for step in _returns(truth, places):
            memory = track.trace.memory(step)
            number = memory.unsigned(count.address, word) - 1
            values = [memory.unsigned(table.address + (number * ENTRIES + i) * word, word) for i in range(ENTRIES)]
            assert not truth.transition[step]
            yield Asked(number, tuple(values[1 : values.index(0)]), truth.stack(step), places)


def _returns(truth: Truth, places: GoPlaces) -> Iterator[int]:
    """The steps at which `runtime.Callers` has just returned to `main.ask`."""
    pcs = truth.trace.pc
    start, end = next((start, end) for start, end, name in places.named if name == "runtime.Callers")
    inside = (pcs >= np.uint64(start)) & (pcs < np.uint64(end))
    for step in (np.flatnonzero(inside[:-1] & ~inside[1:]) + 1).tolist():
        if places.at(int(pcs[step])) == "main.ask":
            yield step
