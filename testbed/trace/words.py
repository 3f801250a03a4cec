"""Words of memory as they were before many steps at once: what `Memory.unsigned` says, in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.trace.memory import Region, Writes

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)  # of so many bytes


class WordHistory:
    """All words that a run writes, each with what it holds from each write on, by word and time.

    A word's place is its address divided by its size. A write that is smaller than a word, or lies across two, leaves
    the other bytes of a word as they were: written before, or as the run began.
    """

    def __init__(self, word: int, initial: Sequence[Region], writes: Writes) -> None:
        self._word, self._regions = word, tuple(region for region in initial if region.data)
        steps, addresses, sizes, values = writes.step, writes.address, writes.size, writes.value
        first = addresses // np.uint64(word)
        last = (addresses + sizes.astype(np.uint64) - np.uint64(1)) // np.uint64(word)
        number, place = np.arange(len(first)), first
        for k in range(1, int((last - first).max(initial=0)) + 1):
            further = np.flatnonzero(last - first >= np.uint64(k))
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

    def _fill(self, own: Numbers, rank: Numbers, written: Words) -> None:
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

    def at(self, steps: Numbers, addresses: Words, size: int | None = None) -> tuple[Words, Bools]:
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

    def _held(self, steps: Numbers, place: Words) -> tuple[Words, Words]:
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

    def _initial(self, place: Words) -> tuple[Words, Words]:
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


def _moved(values: Words, octets: Numbers) -> Words:
    """Values moved by so many bytes: up where that is above 0, else down. At most 7."""
    bits = np.abs(octets).astype(np.uint64) * np.uint64(8)
    return np.where(octets > 0, values << bits, values >> bits)
