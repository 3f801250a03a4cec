"""Which words hold what is followed: labels by register and by address."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.arch import Arch
from testbed.trace import Trace
from testbed.witness.passage import MemoryWord, Passage, Spot

FIRST_STACK = -1


class Labels:
    """Labels of registers (by name) and of words in memory (by address). A word without one holds nothing of interest.

    ``stack()`` is the identity of the stack that SP points into: a value that does not come from any SP, loaded into
    SP, is the beginning of a stack that was not seen before.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.arch: Arch = trace.arch
        self.held: dict[str | int, int] = {trace.arch.sp: FIRST_STACK}
        self._stacks = FIRST_STACK
        self._writes = _WrittenPlaces(trace)
        self._unaligned = False
        self.moved: set[int] = set()  # the words whose label a move put there
        self._parts: dict[int, int] = {}  # the bytes of words of which parts were written: of which continuation

    def stack(self) -> int:
        return self.held[self.arch.sp]

    def new_stack(self) -> int:
        self._stacks -= 1
        return self._stacks

    def at(self, spot: Spot, row: Sequence[int]) -> int | None:
        """The label at a spot, whose address the registers of ``row`` make."""
        if not isinstance(spot, MemoryWord):
            return self.held.get(spot)
        address = spot.address(row) & self.arch.word_mask
        return self._of_part(address) if spot.part else self.held.get(address)

    def _of_part(self, address: int) -> int | None:
        """The continuation that a byte belongs to."""
        if address in self._parts:
            return self._parts[address]
        label = self.held.get(address & -self.arch.word)
        return label if label is not None and label >= 0 else None

    def put(self, spot: MemoryWord, key: int, label: int | None) -> None:
        """A store: of a whole word, or of a part, which is a word of one continuation when all of its bytes are."""
        word = self.arch.word
        if not spot.part:
            self.set(key, label)
            self.moved.add(key)
            return
        continued = label is not None and label >= 0
        for place in range(key, key + spot.part):
            if continued and label is not None:
                self._parts[place] = label
            else:
                self._parts.pop(place, None)
        first = key & -word
        if continued and all(self._parts.get(place) == label for place in range(first, first + word)):
            self.set(first, label)
            self.moved.add(first)

    def of(self, sources: tuple[Spot, ...], row: Sequence[int], effect: Passage) -> int | None:
        """The label of what is computed from some sources: a continuation before a stack, none if there are two."""
        label: int | None = None
        for spot in sources:
            found = self.at(spot, row)
            if found is None:
                continue
            if label is None:
                label = found
            elif effect.difference:
                return None  # the distance of two addresses is none
            elif found != label:
                if found >= 0 and label >= 0:
                    return None
                label = max(found, label)
        return label

    def chosen(self, sources: tuple[Spot, ...], row: Sequence[int], to: Spot, after: Sequence[int]) -> int | None:
        """The label of the source that a conditional move took: the one that has the value."""
        place = self.arch.index.get(to) if isinstance(to, str) else None
        for spot in (*sources, to):
            if place is None or not isinstance(spot, str) or spot not in self.arch.index:
                continue
            if row[self.arch.index[spot]] == after[place]:
                return self.at(spot, row)
        return next((self.at(spot, row) for spot in sources if isinstance(spot, MemoryWord)), None)

    def set(self, key: str | int, label: int | None) -> None:
        """A word gets a label, or loses it. SP always has one."""
        if key == self.arch.sp:
            self.held[key] = label if label is not None and label < 0 else self.new_stack()
        elif label is None:
            self.held.pop(key, None)
        else:
            self.held[key] = label
            if isinstance(key, int) and key % self.arch.word:
                self._unaligned = True

    def continuations(self) -> dict[str | int, int]:
        """The continuations that registers and words hold."""
        return {key: label for key, label in self.held.items() if label >= 0}

    def written(self, step: int) -> None:
        """Forget what the memory writes of a step wrote over, unless the word has the same value again.

        A write to a part of a word often leaves it what it was: the zero half of an address, written with zero.
        """
        word = self.arch.word
        for address, size in self._writes.of(step):
            if size == word and not address % word and not self._unaligned:
                self.held.pop(address, None)
                if self._parts:
                    self._forget(address, word)
                continue
            reach = range(address - word + 1, address + size) if self._unaligned else _words(address, size, word)
            for key in reach:
                if key in self.held and not (
                    (key < address or address + size < key + word)
                    and self.value(key, step) == self.value(key, step + 1)
                ):
                    self._spread(key)
                    del self.held[key]
            self._forget(address, size)

    def _spread(self, key: int) -> None:
        """A part of a word is written over: its other bytes still are the continuation's."""
        label = self.held[key]
        if label >= 0:
            self._parts.update(dict.fromkeys(range(key, key + self.arch.word), label))

    def _forget(self, address: int, size: int) -> None:
        for place in range(address, address + size):
            self._parts.pop(place, None)

    def value(self, address: int, step: int) -> int:
        """The word in memory before a step."""
        return self.trace.memory(step).unsigned(address, self.arch.word)


def _words(address: int, size: int, word: int) -> range:
    return range(address & -word, address + size, word)


class _WrittenPlaces:
    """The journal of writes, read once from the beginning to the end."""

    def __init__(self, trace: Trace) -> None:
        writes = trace.writes
        self._steps = writes.step.tolist()
        self._places = list(zip(writes.address.tolist(), writes.size.tolist(), strict=True))
        self._next = 0

    def of(self, step: int) -> list[tuple[int, int]]:
        """(address, size) of the writes of a step; steps are asked for in order."""
        start = self._next
        while self._next < len(self._steps) and self._steps[self._next] <= step:
            self._next += 1
        return self._places[start : self._next]
