"""Two passes of `testbed.truth.sites`, natively, for long traces; tests hold them to the readable ones.

Sorting is what costs there: by activation, although the activations are numbered, and by (SP, FP) pairs, although a
segment has few of them. Here the first is a counting sort and the second a table of pairs per segment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled


@compiled(allocates=True)
def steps_by_activation(node: Any, count: Any) -> Any:
    """The steps ordered by activation, then time; ``count`` activations there are."""
    place = np.zeros(count + 1, np.int64)
    for step in range(len(node)):
        place[node[step] + 1] += 1
    for index in range(count):
        place[index + 1] += place[index]
    order = np.empty(len(node), np.int64)
    for step in range(len(node)):
        index = node[step]
        order[place[index]] = step
        place[index] += 1
    return order


@compiled(allocates=True)
def settle(starts: Any, order: Any, registers: Any, away: Any, out: Any) -> None:
    """Fill in prologue, epilogue and frameless, by step, from each segment's settled pair (SP, FP).

    That is the pair of the highest kind, then the most frequent, then the deepest; its kind is that of its first step.
    ``starts`` is where segments begin in ``order``, ``away`` whether FP and SP are not their entry values.
    """
    sp, pointer = registers
    moved, lowered = away
    count = len(order)
    size, longest = 1, 0
    for s in range(len(starts)):
        end = starts[s + 1] if s + 1 < len(starts) else count
        longest = max(longest, end - starts[s])
    while size < 2 * longest:
        size *= 2
    head = np.empty(size, np.int64)  # the pair's first step, where its owner is the segment at hand
    tail = np.empty(size, np.int64)  # and its last one
    frequency = np.empty(size, np.int64)
    owner = np.full(size, -1, np.int64)
    new = np.empty(longest, np.int64)  # the pairs of the segment at hand
    for s in range(len(starts)):
        first = starts[s]
        end = starts[s + 1] if s + 1 < len(starts) else count
        width = 1
        while width < 2 * (end - first):
            width *= 2
        mask = u64(width - 1)
        pairs, at, still = 0, np.int64(-1), True
        for i in range(first, end):
            k = order[i]
            still = still and not moved[k]
            if at < 0 or sp[k] != sp[order[head[at]]] or pointer[k] != pointer[order[head[at]]]:
                mixed = (sp[k] ^ (pointer[k] << u64(1))) * u64(0x9E37_79B9_7F4A_7C15)
                at = np.int64((mixed ^ (mixed >> u64(32))) & mask)
                while owner[at] == s and (sp[order[head[at]]] != sp[k] or pointer[order[head[at]]] != pointer[k]):
                    at = np.int64((u64(at) + u64(1)) & mask)
                if owner[at] != s:
                    owner[at], head[at], frequency[at], new[pairs] = s, i, 0, at
                    pairs += 1
            frequency[at] += 1
            tail[at] = i
        best = new[0]
        for p in range(1, pairs):
            at = new[p]
            i, j = order[head[at]], order[head[best]]
            kind, other = 2 if moved[i] else np.int64(lowered[i]), 2 if moved[j] else np.int64(lowered[j])
            if kind != other:
                better = kind > other
            elif frequency[at] != frequency[best]:
                better = frequency[at] > frequency[best]
            elif sp[i] != sp[j]:
                better = sp[i] < sp[j]
            else:
                better = pointer[i] > pointer[j]
            if better:
                best = at
        for i in range(first, end):
            k = order[i]
            out[0][k], out[1][k], out[2][k] = i < head[best], i > tail[best], still


@compiled(allocates=True)
def count_pairs(sp: Any, pointer: Any, kind: Any) -> Any:
    """The distinct pairs (SP, FP) in order: where each one occurs first, how often, and where last."""
    count = len(sp)
    size = 16
    table = np.full(size, -1, np.int64)
    heads, many, lasts = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    used = 0
    for i in range(count):
        mixed = (sp[i] ^ (pointer[i] << u64(1))) * u64(0x9E37_79B9_7F4A_7C15)
        at = np.int64((mixed ^ (mixed >> u64(32))) & u64(size - 1))
        while table[at] >= 0 and (sp[heads[table[at]]] != sp[i] or pointer[heads[table[at]]] != pointer[i]):
            at = np.int64((u64(at) + u64(1)) & u64(size - 1))
        pair = table[at]
        if pair < 0:
            pair = used
            table[at], heads[pair], many[pair] = pair, i, 0
            used += 1
        many[pair] += 1
        lasts[pair] = i
        if 2 * used > size:
            old = size
            size *= 2
            table = np.full(size, -1, np.int64)
            wider = np.empty((3, size), np.int64)
            wider[0, :old], wider[1, :old], wider[2, :old] = heads, many, lasts
            heads, many, lasts = wider[0], wider[1], wider[2]
            for p in range(used):
                j = heads[p]
                mixed = (sp[j] ^ (pointer[j] << u64(1))) * u64(0x9E37_79B9_7F4A_7C15)
                at = np.int64((mixed ^ (mixed >> u64(32))) & u64(size - 1))
                while table[at] >= 0:
                    at = np.int64((u64(at) + u64(1)) & u64(size - 1))
                table[at] = p
    return heads[:used].copy(), many[:used].copy(), lasts[:used].copy()


@compiled(allocates=True)
def segment_starts(node: Any, order: Any, transfer: Any, moved: Any, lowered: Any) -> Any:
    """Where segments begin, in the order by activation: the cuts of `testbed.truth.sites`."""
    count = len(order)
    cut = np.zeros(count + 1, np.bool_)
    start = 0
    while start < count:  # runs of steps of one activation, at home or away
        first, end, cuts, before = order[start], start, False, np.int64(-2)
        whose, away = node[first], moved[first] or lowered[first]
        while end < count:
            now = order[end]
            if node[now] != whose or (moved[now] or lowered[now]) != away:
                break
            if end == start:
                before = order[start - 1] if start > 0 and node[order[start - 1]] == whose else np.int64(-2)
            if before == -2 or (now == before + 1 and transfer[now] and not away):
                cut[end], cuts = True, True
            before = now
            end += 1
        inside = start > 0 and end < count and node[order[start - 1]] == whose == node[order[end % count]]
        if inside and not away and not cuts:
            cut[start + 1] = True
        start = end
    used = 0
    starts = np.empty(count, np.int64)
    for i in range(count):
        if cut[i]:
            starts[used] = i
            used += 1
    return starts[:used].copy()


@compiled()
def distances_between(
    registers: Any, sp: Any, opened: Any, node: Any, columns: Any, isa: Any, pointer: Any, moved: Any, lowered: Any
) -> None:
    """Fill in FP, and whether it, and SP, is not what it was when the activation was opened. ``columns``: FP by
    instruction set."""
    for k in range(len(sp)):
        column, entry = columns[isa[k]], opened[node[k]]
        value = registers[k, column]
        pointer[k] = value
        moved[k] = value != registers[entry, column]
        lowered[k] = sp[k] != sp[entry]
