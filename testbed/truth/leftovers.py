"""Steps at which the stack holds what looks like a return address and is none: what fools every stack scanner.

A store of an activation's return address makes a *slot*, which belongs to that activation (where the call itself
stores it) or to the one that executes the store. It is a leftover from the last step of its owner until the word has
another content: a store into a part of it that changes nothing ends nothing. A step has leftovers if one of them lies
at or above SP. The address of any other code, stored as data, is a *code pointer* until its word has another content.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.model import Activations
from testbed.truth.transfers import Bools, distinct, in_code

Ints = NDArray[np.int64]


def find_leftovers(trace: Trace, activations: Activations, node: NDArray[np.int32]) -> Bools:
    """For each step: does a leftover lie at or above SP?"""
    slots = slots_of(trace, return_addresses(activations))
    if len(slots) == 0 or len(node) == 0:
        return np.zeros(len(node), np.bool_)
    owner = owners(trace, activations, node, slots)
    first = np.maximum(trace.writes.step[slots].astype(np.int64), last_steps(activations, node)[owner]) + 1
    end = overwritten(trace, slots) + 1
    return at_or_above_sp(trace, first, end, trace.writes.address[slots])


def find_code_pointers(trace: Trace, activations: Activations) -> Bools:
    """For each step: does a stored code address that is no return address lie at or above SP?"""
    slots = code_slots(trace, return_addresses(activations))
    first = trace.writes.step[slots].astype(np.int64) + 1
    return at_or_above_sp(trace, first, overwritten(trace, slots) + 1, trace.writes.address[slots])


def at_or_above_sp(trace: Trace, first: Ints, end: Ints, address: NDArray[np.uint64]) -> Bools:
    """The steps with something at or above SP, of what lies at ``address`` from ``first`` to before ``end``."""
    there = first < end
    if not there.any():
        return np.zeros(len(trace), np.bool_)
    outermost = _outermost(first[there], end[there], address[there].astype(np.int64), len(trace))
    return outermost >= trace.sp.astype(np.int64)


def return_addresses(activations: Activations) -> NDArray[np.uint64]:
    """Those of all activations, in order."""
    return distinct(activations.return_address[activations.parent >= 0])


def code_slots(trace: Trace, returns: NDArray[np.uint64]) -> Ints:
    """The writes of a whole word that store an address of code which is not in ``returns``."""
    value = trace.writes.value & np.uint64(trace.arch.code_mask)
    return np.flatnonzero(in_code(trace, value) & (trace.writes.size == trace.arch.word) & ~np.isin(value, returns))


def slots_of(trace: Trace, returns: NDArray[np.uint64]) -> Ints:
    """The writes of a whole word that store one of the return addresses."""
    is_one = np.isin(trace.writes.value & np.uint64(trace.arch.code_mask), returns)
    return np.flatnonzero(is_one & (trace.writes.size == trace.arch.word))


def owners(trace: Trace, activations: Activations, node: NDArray[np.int32], slots: Ints) -> Ints:
    """The activation that a slot belongs to: the one that the storing call opened, else the one that stores."""
    step = trace.writes.step[slots].astype(np.int64)
    after = node[np.minimum(step + 1, len(node) - 1)]
    opened = activations.opened
    returns = activations.return_address
    by_call = (opened[after] == step + 1) & (returns[after] == trace.writes.value[slots])
    return np.where(by_call, after, node[step]).astype(np.int64)


def last_steps(activations: Activations, node: NDArray[np.int32]) -> Ints:
    """The last step of each activation or of one that it called; -1 where there is none."""
    last = np.full(len(activations), -1, np.int64)
    np.maximum.at(last, node, np.arange(len(node)))
    out, parents = last.tolist(), activations.parent.tolist()
    for index in range(len(out) - 1, -1, -1):  # a parent comes before its children
        if parents[index] >= 0:
            out[parents[index]] = max(out[parents[index]], out[index])
    return np.array(out, np.int64)


def overwritten(trace: Trace, slots: Ints) -> Ints:
    """The step at which each slot's word gets another content; the trace's length where it never does.

    A store of a whole word ends what was there, whatever it stores: it is a slot of its own or none. A store into a
    part of it ends it only if it changes a byte: C clears the upper half of a word whose upper half is zero.
    """
    writes, word = trace.writes, np.uint64(trace.arch.word)
    low = writes.address // word
    high = (writes.address + writes.size.astype(np.uint64) - np.uint64(1)) // word
    both = np.flatnonzero(high != low)  # an unaligned store ends two words' contents
    place = np.concatenate((low, high[both]))
    number = np.concatenate((np.arange(len(writes)), both))
    order = np.lexsort((number, place))
    place, number = place[order], number[order]
    ends = ~_repeats(trace, place, number)
    # Of each entry the next one that ends something, if it is in the same word.
    entries = np.arange(len(number))
    coming = np.minimum.accumulate(np.where(ends, entries, len(number))[::-1])[::-1]
    after = np.append(coming[1:], len(number)) if len(number) else coming
    same = after < len(number)
    same[same] = place[after[same]] == place[same]
    until = np.full(len(writes), len(trace), np.int64)
    np.minimum.at(until, number[same], writes.step[number[after[same]]].astype(np.int64))
    return until[slots]


def _repeats(trace: Trace, place: NDArray[np.uint64], number: Ints) -> Bools:
    """For writes by word, then time: does this one store into a part of the word the bytes that it holds already?

    What it holds is known from the store of the whole word before it, as long as nothing has changed that since.
    """
    writes, word = trace.writes, trace.arch.word
    start = place * np.uint64(word)
    address, size = writes.address[number], writes.size[number].astype(np.uint64)
    whole = (address == start) & (size == word)
    entries = np.arange(len(number))
    base = np.maximum.accumulate(np.where(whole, entries, -1)) if len(number) else entries
    partial = np.flatnonzero(~whole & (base >= 0))
    partial = partial[place[base[partial]] == place[partial]]
    first = np.maximum(address[partial], start[partial])
    count = np.minimum(address[partial] + size[partial], start[partial] + np.uint64(word)) - first
    kept = writes.value[number[base[partial]]] >> (np.uint64(8) * (first - start[partial]))
    stored = writes.value[number[partial]] >> (np.uint64(8) * (first - address[partial]))
    unused = np.uint64(64) - np.uint64(8) * count
    equal = np.zeros(len(number), np.bool_)
    equal[partial] = (kept << unused) == (stored << unused)
    changed = np.maximum.accumulate(np.where(whole | equal, -1, entries)) if len(number) else entries
    repeats: Bools = equal & (changed < base)
    return repeats


def _outermost(first: Ints, end: Ints, address: Ints, steps: int) -> Ints:
    """The highest address among the leftovers at each step; -1 where there is none."""
    out = np.full(steps, -1, np.int64)
    order = np.argsort(first, kind="stable")
    arrivals = list(zip(first[order].tolist(), end[order].tolist(), address[order].tolist(), strict=True))
    arrivals.append((steps, steps, -1))
    heap: list[tuple[int, int]] = []
    at = 0
    for start, until, where in arrivals:
        while heap and at < start:
            highest, its_end = heap[0]
            if its_end <= at:
                heappop(heap)
                continue
            out[at : min(its_end, start)] = -highest
            at = min(its_end, start)
        at = max(at, start)
        heappush(heap, (-where, until))
    return out
