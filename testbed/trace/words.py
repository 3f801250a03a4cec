"""Words of memory as they were before many steps at once: what `Memory.unsigned` says, in columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import sooner
from testbed.trace.trace import Trace
from testbed.words.errors import UnreadableMemory

Words = NDArray[np.uint64]


class WordHistory:
    """The journal of a trace's writes, by word and time.

    Most words were stored whole or never: those are looked up in the journal, or lie in what the run began with. What
    lies across two words, and what was stored in parts, is read one by one.
    """

    def __init__(self, trace: Trace) -> None:
        word, writes = np.uint64(trace.arch.word), trace.writes
        low = writes.address // word
        high = (writes.address + writes.size.astype(np.uint64) - np.uint64(1)) // word
        both = np.flatnonzero(high != low)
        everywhere = np.concatenate((low, high[both]))
        number = np.concatenate((np.arange(len(writes)), both))
        order = np.lexsort((number, everywhere))
        number = number[order].astype(np.int64)
        self._trace, self._span = trace, np.int64(len(trace) + 1)
        self._places, rank = np.unique(everywhere[order], return_inverse=True)
        self._keys = rank.astype(np.int64) * self._span + writes.step[number].astype(np.int64)
        self._values = writes.value[number]
        self._whole = (writes.size[number] == trace.arch.word) & (writes.address[number] % word == 0)

    def at(self, steps: NDArray[np.int64], addresses: Words) -> tuple[Words, NDArray[np.bool_]]:
        """The word at each address before each step; false where it is not mapped."""
        word = np.uint64(self._trace.arch.word)
        place, values = addresses // word, np.zeros(len(addresses), np.uint64)
        aligned, stored = addresses % word == 0, np.zeros(len(place), np.bool_)
        known, mapped = stored.copy(), np.ones(len(place), np.bool_)
        if len(self._places):
            rank = np.minimum(np.searchsorted(self._places, place), len(self._places) - 1)
            last = np.searchsorted(self._keys, rank * self._span + steps) - 1
            stored = (self._places[rank] == place) & (last >= 0)
            stored[stored] = self._keys[last[stored]] // self._span == rank[stored]
            known = aligned & stored
            known[known] = self._whole[last[known]]
            values[known] = self._values[last[known]]
        reaches = ~aligned & ~stored  # into the next word
        reaches[reaches] = np.isin(place[reaches] + np.uint64(1), self._places)
        never = np.flatnonzero(~stored & ~reaches)
        values[never], mapped[never], apart = _initial(self._trace, addresses[never])
        known[never[~apart]] = True
        seen: dict[tuple[int, int], int | None] = {}
        for i in np.flatnonzero(~known).tolist():
            key = int(steps[i]), int(addresses[i])
            if key not in seen:
                seen[key] = _word(self._trace, *key)
            value = seen[key]
            mapped[i], values[i] = value is not None, value or 0
        return values, mapped


def words_before(trace: Trace, steps: NDArray[np.int64], addresses: Words) -> tuple[Words, NDArray[np.bool_]]:
    """The word at each address before each step, and where that is known: steps are in order.

    Of words that were stored in parts, that lie across two, or in no memory, nothing is known.
    """
    from testbed.trace.native import NEVER, WHOLE, last_stored

    if (steps[1:] < steps[:-1]).any():
        raise ValueError("steps are in order")
    writes, word = trace.writes, trace.arch.word
    values, how = np.zeros(len(steps), np.uint64), np.zeros(len(steps), np.uint8)
    journal = tuple(map(np.ascontiguousarray, (writes.step, writes.address, writes.size, writes.value)))
    look_up = sooner(last_stored, len(steps) + len(writes))
    look_up(steps, addresses // np.uint64(word), journal, np.uint64(word), values, how)
    known = (how == WHOLE) & (addresses % np.uint64(word) == 0)
    never = np.flatnonzero((how == NEVER) & (addresses % np.uint64(word) == 0))
    values[never], known[never], _ = _initial(trace, addresses[never])
    return values, known


def _initial(trace: Trace, addresses: Words) -> tuple[Words, NDArray[np.bool_], NDArray[np.bool_]]:
    """The words with which a run began; whether each lies in a region, and whether only a part of it does."""
    word = trace.arch.word
    values, mapped = np.zeros(len(addresses), np.uint64), np.zeros(len(addresses), np.bool_)
    apart = mapped.copy()
    for region in trace.initial if len(addresses) else ():
        at, size = addresses - np.uint64(region.address), len(region.data)
        inside = (at < np.uint64(size)) & (at + np.uint64(word) <= np.uint64(size))
        apart |= ~inside & ((at < np.uint64(size)) | (at + np.uint64(word - 1) < np.uint64(size)))
        if inside.any():
            first = at[inside].astype(np.int64)
            octets = np.frombuffer(region.data, np.uint8)[first[:, None] + np.arange(word)]
            values[inside], mapped[inside] = octets.view(f"<u{word}").reshape(-1), True
    return values, mapped, apart


def _word(trace: Trace, step: int, address: int) -> int | None:
    try:
        return trace.memory(step).unsigned(address, trace.arch.word)
    except UnreadableMemory:
        return None
