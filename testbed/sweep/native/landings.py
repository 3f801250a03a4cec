"""Landing pads: the call sites of a language-specific data area, as GCC and clang write it.

Layout (Itanium C++ ABI: Exception Handling, level II; GCC's ``except.cc``)::

    encoding of the base of landing pads, the base if there is one; encoding of types, ULEB if there is one
    encoding of call sites, ULEB: their bytes; then for each: first, length, landing pad (0: none), ULEB action
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.entries import LANDING_TABLE, START, leb, pointer
from testbed.sweep.native.room import MOST_SITES, SITES, place_in_file

_OMITTED = 0xFF


@compiled()
def read_sites(swept: Any, entry: Any, room: Any, cursor: Any, word: Any) -> None:
    """Fill in the call sites of an entry that have a landing pad: first, end, pad. What is malformed ends them."""
    room.counts[SITES] = 0
    if entry[LANDING_TABLE] == 0:
        return
    at, end = place_in_file(swept.segments, entry[LANDING_TABLE])
    if at < 0 or at + 4 > end:
        return
    octets, moved = swept.octets, entry[LANDING_TABLE] - at
    cursor[0] = at + 1
    base = entry[START]
    if octets[at] != _OMITTED:
        base = pointer(octets, cursor, end, int(octets[at]), cursor[0] + moved, word)
    if cursor[0] < 0 or cursor[0] + 2 > end:
        return
    cursor[0] += 1
    if octets[cursor[0] - 1] != _OMITTED:
        leb(octets, cursor, end, False)
    if cursor[0] < 0 or cursor[0] + 2 > end:
        return
    encoding = int(octets[cursor[0]]) & 0x0F
    cursor[0] += 1
    length = leb(octets, cursor, end, False)
    stop = cursor[0] + length
    if cursor[0] < 0 or stop > end:
        return
    count = 0
    while 0 <= cursor[0] < stop and count < MOST_SITES:
        first = pointer(octets, cursor, stop, encoding, 0, word)
        size = pointer(octets, cursor, stop, encoding, 0, word)
        pad = pointer(octets, cursor, stop, encoding, 0, word)
        leb(octets, cursor, stop, False)
        if cursor[0] < 0:
            return
        if pad != 0:
            room.sites[count, 0], room.sites[count, 1] = entry[START] + first, entry[START] + first + size
            room.sites[count, 2] = base + pad
            count += 1
            room.counts[SITES] = count
