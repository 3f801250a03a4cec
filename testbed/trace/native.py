"""A journal of writes applied to memory that lies in one array of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled

PAGE = 4096  # bytes


@compiled(pays_from=10_000)
def apply_writes(
    starts: Any, ends: Any, places: Any, octets: Any, touched: Any, used: Any, address: Any, size: Any, value: Any
) -> None:
    """Every write, in order; ``touched`` are the regions that any of them reaches, ``used`` the pages of octets."""
    last = 0
    for i in range(len(address)):
        at, word = address[i], value[i]
        for _ in range(size[i]):
            if not starts[last] <= at < ends[last]:
                for r in range(len(starts)):
                    if starts[r] <= at < ends[r]:
                        last = r
            if starts[last] <= at < ends[last]:
                place = places[last] + np.int64(at - starts[last])
                octets[place] = np.uint8(word & np.uint64(0xFF))
                touched[last] = used[place // PAGE] = True
            at += np.uint64(1)
            word >>= np.uint64(8)


NEVER, WHOLE, IN_PARTS = range(3)  # how a word was stored last


@compiled(allocates=True)
def last_stored(steps: Any, places: Any, journal: Any, word: Any, values: Any, how: Any) -> None:
    """What was stored last in some words before some steps, which are in order; and how, as above.

    A word's place is its address divided by its size, ``word``. ``journal`` is steps, addresses, sizes and values.
    """
    at_step, address, size, value = journal
    room = 16
    while room < 2 * len(places):
        room *= 2
    mask, mix = np.uint64(room - 1), np.uint64(0x9E37_79B9_7F4A_7C15)
    keys, used = np.zeros(room, np.uint64), np.zeros(room, np.bool_)
    last, kind = np.zeros(room, np.uint64), np.zeros(room, np.uint8)
    slots = np.empty(len(places), np.int64)
    for i in range(len(places)):
        slot = (places[i] * mix >> np.uint64(32)) & mask
        while used[slot] and keys[slot] != places[i]:
            slot = (slot + np.uint64(1)) & mask
        used[slot], keys[slot], slots[i] = True, places[i], np.int64(slot)
    write = 0
    for i in range(len(places)):
        while write < len(at_step) and np.int64(at_step[write]) < steps[i]:
            first = address[write] // word
            final = (address[write] + np.uint64(size[write]) - np.uint64(1)) // word
            whole = np.uint64(size[write]) == word and first == final
            for place in (first, final):
                slot = (place * mix >> np.uint64(32)) & mask
                while used[slot] and keys[slot] != place:
                    slot = (slot + np.uint64(1)) & mask
                if used[slot]:
                    kind[slot], last[slot] = WHOLE if whole else IN_PARTS, value[write]
            write += 1
        values[i], how[i] = last[slots[i]], kind[slots[i]]


@compiled(inline=True)
def changes_at(registers: Any, k: Any) -> Any:
    """`testbed.trace.Trace.changed` of a row behind another one."""
    bits = np.uint64(0)
    for c in range(registers.shape[1]):
        if registers[k, c] != registers[k - 1, c]:
            bits |= np.uint64(1) << np.uint64(min(c, 63))
    return bits


@compiled()
def note_changes(registers: Any, out: Any) -> None:
    """Fill in `testbed.trace.Trace.changed`."""
    for k in range(len(registers)):
        out[k] = changes_at(registers, k) if k > 0 else ~np.uint64(0)
