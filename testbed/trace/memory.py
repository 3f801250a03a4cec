"""Memory as it was before any step, without replaying: the initial image plus a journal of writes.

At step ``n`` a byte has the value of the last journal entry with ``step < n`` that covers it, else its initial
value. Random access is a dictionary look-up and a binary search per aligned 8-byte granule; words at many steps are
found in columns (`WordHistory`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from testbed.trace.sparse import used_pages
from testbed.words.errors import UnreadableMemory

GRANULE = 8


@dataclass(frozen=True)
class Region:
    """Mapped memory: ``data`` at ``address``."""

    address: int
    data: bytes = field(repr=False)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """For each page of the data: is there anything but zeros?"""
        return used_pages(self.data)

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True, eq=False)
class Writes:
    """The journal of memory writes, one row each, in the order they happened.

    A write happens while its ``step`` executes; ``size`` is 1 to 8 bytes of the little-endian ``value``.
    """

    step: NDArray[np.uint32]
    address: NDArray[np.uint64]
    size: NDArray[np.uint8]
    value: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.step)

    def part(self, first: int, end: int) -> Writes:
        """The entries from the first to before the second."""
        return Writes(self.step[first:end], self.address[first:end], self.size[first:end], self.value[first:end])

    @staticmethod
    def joined(parts: Sequence[Writes]) -> Writes:
        """One journal behind the other; steps stay as they are."""
        names = ("step", "address", "size", "value")
        return Writes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class Regions:
    """Mapped regions, sorted and disjoint; a read that leaves them raises UnreadableMemory."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self._regions = tuple(sorted((r for r in regions if r.data), key=lambda region: region.address))
        self._starts = tuple(region.address for region in self._regions)
        for left, right in zip(self._regions, self._regions[1:], strict=False):
            if left.end > right.address:
                raise ValueError(f"memory regions overlap at {right.address:#x}")

    def __iter__(self) -> Iterator[Region]:
        return iter(self._regions)

    def end_of(self, address: int) -> int:
        """The end of the region that maps ``address``; raises UnreadableMemory where none does."""
        i = bisect_right(self._starts, address) - 1
        if i < 0 or address >= self._regions[i].end:
            raise UnreadableMemory(address, 1)
        return self._regions[i].end

    def read(self, address: int, size: int) -> bytes:
        i = bisect_right(self._starts, address) - 1
        if i >= 0:  # nearly always it is all in one region
            region = self._regions[i]
            whole = region.data[address - region.address : address - region.address + size]
            if len(whole) == size:
                return whole
        out = b""
        while len(out) < size:
            at = address + len(out)
            i = bisect_right(self._starts, at) - 1
            if i < 0 or at >= self._regions[i].end:
                raise UnreadableMemory(address, size)
            region = self._regions[i]
            out += region.data[at - region.address : at - region.address + size - len(out)]
        return out


class History:
    """Initial regions and every write, indexed so that any step's memory can be read directly."""

    def __init__(self, regions: Iterable[Region], writes: Writes) -> None:
        self.regions = Regions(regions)
        self._writes = writes

    @cached_property
    def _granules(self) -> dict[int, tuple[list[int], list[bytes]]]:
        """For each granule ever written: the steps after which it changed, and its content from then on."""
        index: dict[int, tuple[list[int], list[bytes]]] = {}
        journal = zip(
            self._writes.step.tolist(),
            self._writes.address.tolist(),
            self._writes.size.tolist(),
            self._writes.value.tolist(),
            strict=True,
        )
        for step, address, size, value in journal:
            data = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
            done = 0
            while done < size:
                base = (address + done) & -GRANULE
                skip = address + done - base
                part = data[done : done + GRANULE - skip]
                steps, contents = index.setdefault(base, ([], []))
                before = contents[-1] if contents else self._initial(base)
                after = before[:skip] + part + before[skip + len(part) :]
                if steps and steps[-1] == step:
                    contents[-1] = after
                else:
                    steps.append(step)
                    contents.append(after)
                done += len(part)
        return index

    def _initial(self, base: int) -> bytes:
        try:
            return self.regions.read(base, GRANULE)
        except UnreadableMemory:  # a region that is not a multiple of the granule: byte by byte
            out = bytearray(GRANULE)
            for i in range(GRANULE):
                try:
                    out[i] = self.regions.read(base + i, 1)[0]
                except UnreadableMemory:
                    continue
            return bytes(out)

    @cached_property
    def _written(self) -> list[int]:
        """The granules ever written, in order: a long read, as of a stack, asks only for those that it meets."""
        return sorted(self._granules)

    def read(self, address: int, size: int, step: int) -> bytes:
        """``size`` bytes at ``address`` as they were before ``step`` executed."""
        initial = self.regions.read(address, size)  # raises where nothing is mapped
        granules = self._granules
        first = address & -GRANULE
        if address + size <= first + GRANULE:  # a word, as nearly everything is that unwinders read
            entry = granules.get(first)
            i = bisect_left(entry[0], step) - 1 if entry else -1
            return entry[1][i][address - first : address - first + size] if entry and i >= 0 else initial
        if size <= 4 * GRANULE:
            met: Sequence[int] = range(first, address + size, GRANULE)
        else:
            written = self._written
            met = written[bisect_left(written, first) : bisect_left(written, address + size)]
        out = bytearray(initial)
        for base in met:
            entry = granules.get(base)
            i = bisect_left(entry[0], step) - 1 if entry else -1
            if entry and i >= 0:
                low, high = max(base, address), min(base + GRANULE, address + size)
                out[low - address : high - address] = entry[1][i][low - base : high - base]
        return bytes(out)


class Memory:
    """What an unwinder may read: the bytes mapped at this snapshot, and nothing about other steps."""

    __slots__ = ("_read", "_regions")

    def __init__(self, source: History | Regions, step: int = 0) -> None:
        self._regions = source.regions if isinstance(source, History) else source
        self._read: Callable[[int, int], bytes] = (
            partial(source.read, step=step) if isinstance(source, History) else source.read
        )

    @classmethod
    def of(cls, parts: Iterable[tuple[int, bytes]]) -> Memory:
        """Memory from ``(address, bytes)`` pairs: a snapshot that did not come from a trace."""
        return cls(Regions(Region(address, bytes(data)) for address, data in parts))

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes at ``address``; raises UnreadableMemory where one of them is not mapped."""
        return self._read(address, size)

    def unsigned(self, address: int, size: int) -> int:
        """A little-endian unsigned integer of ``size`` bytes."""
        return int.from_bytes(self._read(address, size), "little")

    @property
    def regions(self) -> tuple[tuple[int, int], ...]:
        """What is mapped: ``(address, size)``, by address."""
        return tuple((region.address, len(region.data)) for region in self._regions)

    def mapped_until(self, address: int) -> int:
        """The end of the mapping that holds ``address``, as a process reads it from its own map of memory.

        Raises UnreadableMemory where nothing is mapped.
        """
        return self._regions.end_of(address)


_Words = NDArray[np.uint64]
_Bools = NDArray[np.bool_]
_Numbers = NDArray[np.int64]
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)  # of so many bytes


class WordHistory:
    """All words that a run writes, each with what it holds from each write on, by word and time.

    A word's place is its address divided by its size. A write that is smaller than a word, or lies across two, leaves
    the other bytes of a word as they were: written before, or as the run began.
    """

    def __init__(self, word: int, initial: Sequence[Region], writes: Writes) -> None:
        self._word, self._regions = word, tuple(region for region in initial if region.data)
        steps, addresses, sizes, values = writes.step, writes.address, writes.size, writes.value
        first, offset = np.divmod(addresses, np.uint64(word))
        others = (offset.astype(np.int64) + sizes.astype(np.int64) - 1) // word  # of a write at the end of memory, too
        number, place = np.arange(len(first)), first
        for k in range(1, int(others.max(initial=0)) + 1):
            further = np.flatnonzero(others >= k)
            number, place = np.concatenate((number, further)), np.concatenate((place, first[further] + np.uint64(k)))
        order = np.lexsort((number, place)) if len(number) > len(first) else np.argsort(place, kind="stable")
        number, place = number[order], place[order]
        self._places, rank = np.unique(place, return_inverse=True)
        self._span = np.int64(steps.max(initial=0)) + 2
        self._keys = rank.astype(np.int64) * self._span + steps[number].astype(np.int64)
        before = (addresses[number] - place * np.uint64(word)).astype(
            np.int64
        )  # bytes of the word before the first one
        self._values = _moved(values[number] & _MASKS[sizes[number]], before) & _MASKS[word]
        written = _moved(_MASKS[sizes[number]], before) & _MASKS[word]
        self._mapped = np.full(len(rank), _MASKS[word])
        in_parts = np.zeros(len(self._places), np.bool_)
        in_parts[rank[written != _MASKS[word]]] = True
        self._fill(np.flatnonzero(in_parts[rank]), rank, written)

    def _fill(self, own: _Numbers, rank: _Numbers, written: _Words) -> None:
        """Some writes, of all that their words have: the bytes that they leave are those of the last one before."""
        begins = np.flatnonzero(np.diff(rank[own], prepend=-1))
        group = np.repeat(begins, np.diff(begins, append=len(own)))
        began, self._mapped[own] = self._initial(self._places[rank[own]])
        values, here = self._values[own], np.arange(len(own))
        filled = np.zeros_like(values)
        for lane in range(self._word):
            octet = np.uint64(0xFF << 8 * lane)
            last = np.maximum.accumulate(np.where(written[own] & octet != 0, here, -1))
            filled |= np.where(last >= group, values[last], began) & octet
        self._values[own] = filled

    def at(self, steps: _Numbers, addresses: _Words, size: int | None = None) -> tuple[_Words, _Bools]:
        """``size`` bytes, at most 8, at each address before each step (a word); false where they are not mapped."""
        word, size = self._word, size or self._word
        offset = (addresses % np.uint64(word)).astype(np.int64)
        place, values, mapped = (
            addresses // np.uint64(word),
            np.zeros(len(steps), np.uint64),
            np.ones(len(steps), np.bool_),
        )
        for k in range((int(offset.max(initial=0)) + size + word - 1) // word):
            own = np.flatnonzero(offset + size > k * word)
            value, there = self._held(steps[own], place[own] + np.uint64(k))
            moved = k * word - offset[own]
            wanted = _moved(_MASKS[size], -moved)
            values[own] |= _moved(value, moved)
            mapped[own] &= ~there & wanted & _MASKS[word] == 0
        values &= _MASKS[size]
        values[~mapped] = 0
        return values, mapped

    def _held(self, steps: _Numbers, place: _Words) -> tuple[_Words, _Words]:
        """What some words held before some steps, and which of their bits are mapped."""
        if not len(self._places):
            return self._initial(place)
        rank = np.minimum(np.searchsorted(self._places, place), len(self._places) - 1)
        last = np.searchsorted(self._keys, rank * self._span + np.minimum(steps, self._span - 1)) - 1
        known = (self._places[rank] == place) & (last >= 0)
        known[known] = self._keys[last[known]] // self._span == rank[known]
        values, mapped = self._values[last], self._mapped[last]
        values[~known], mapped[~known] = self._initial(place[~known])
        return values, mapped

    def _initial(self, place: _Words) -> tuple[_Words, _Words]:
        """The words with which the run began, and which of their bits are mapped."""
        word, distinct = np.uint64(self._word), np.unique(place, return_inverse=True)
        octets = distinct[0][:, None] * word + np.arange(self._word, dtype=np.uint64)
        values, mapped = np.zeros(octets.shape, np.uint8), np.zeros(octets.shape, np.uint8)
        for region in self._regions if len(place) else ():
            inside = octets - np.uint64(region.address) < np.uint64(len(region.data))
            if inside.any():
                at = (octets[inside] - np.uint64(region.address)).astype(np.int64)
                values[inside], mapped[inside] = np.frombuffer(region.data, np.uint8)[at], 0xFF
        held, there = (each.view(f"<u{self._word}").reshape(-1).astype(np.uint64) for each in (values, mapped))
        return held[distinct[1]], there[distinct[1]]


def _moved(values: _Words, octets: _Numbers) -> _Words:
    """Values moved by so many bytes: up where that is above 0, else down. At most 7."""
    bits = np.abs(octets).astype(np.uint64) * np.uint64(8)
    return np.where(octets > 0, values << bits, values >> bits)
