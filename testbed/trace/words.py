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

    Most words were stored whole: those are looked up in the journal. What lies across two words, what was stored in
    parts, and what was never stored is read one by one.
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
        known = np.zeros(len(place), np.bool_)
        if len(self._places):
            rank = np.minimum(np.searchsorted(self._places, place), len(self._places) - 1)
            last = np.searchsorted(self._keys, rank * self._span + steps) - 1
            known = (self._places[rank] == place) & (last >= 0) & (addresses % word == 0)
            known[known] = (self._keys[last[known]] // self._span == rank[known]) & self._whole[last[known]]
            values[known] = self._values[last[known]]
        mapped = np.ones(len(place), np.bool_)
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
    for region in trace.initial if len(never) else ():
        at, size = addresses[never] - np.uint64(region.address), len(region.data)
        inside = (at < np.uint64(size)) & (at + np.uint64(word) <= np.uint64(size))
        if inside.any():
            here, first = never[inside], at[inside].astype(np.int64)
            octets = np.frombuffer(region.data, np.uint8)[first[:, None] + np.arange(word)]
            values[here], known[here] = octets.view(f"<u{word}").reshape(-1), True
    return values, known


def _word(trace: Trace, step: int, address: int) -> int | None:
    try:
        return trace.memory(step).unsigned(address, trace.arch.word)
    except UnreadableMemory:
        return None
