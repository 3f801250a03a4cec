"""The entries of `.eh_frame` and `.debug_frame` in columns: which code each is for, and where its rows are told.

Layout: DWARF 5, section 6.4.1; LSB 5.0 core, section 10.6. What breaks the format in one entry is that entry's; a
wrong length hides all that follow. Places count from the beginning of the file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import signed_number

# What became of an entry when it was read.
READ, BAD_CIE, BAD_ENTRY, BAD_ROWS, REMOVED = range(5)

# What stands in CIES and in ENTRIES, by columns.
(CODE_FACTOR, DATA_FACTOR, RETURN_COLUMN, POINTERS, LANDINGS, HAS_DATA, IS_SIGNAL, BEGIN, FINISH, CIE_STATE) = range(10)
(START, END, CIE, PROGRAM, PROGRAM_END, LANDING_TABLE, STATE, FIRST_ROW, LAST_ROW) = range(9)
CIE_COLUMNS, ENTRY_COLUMNS = 10, 9

_INDIRECT, _OMITTED = 0x80, 0xFF
_NO_LENGTH = 0xFFFF_FFFF


class SectionInFile(NamedTuple):
    """A section: the whole file, where the section begins and ends in it, its address; whether it is `.eh_frame`; how
    many bytes an address has."""

    octets: NDArray[np.uint8]
    begin: int
    end: int
    address: int
    is_eh: bool
    word: int


@compiled()
def leb(octets: Any, cursor: Any, end: Any, is_signed: Any) -> Any:
    """A LEB128 number at the cursor, which moves on; beyond ``end`` the cursor becomes -1."""
    value, shift, at = 0, 0, cursor[0]
    while 0 <= at < end and shift < 70:
        byte = int(octets[at])
        at += 1
        if shift < 63:
            value |= (byte & 0x7F) << shift
        shift += 7
        if byte & 0x80 == 0:
            cursor[0] = at
            if is_signed and byte & 0x40 and shift < 63:
                value -= 1 << shift
            return value
    cursor[0] = -1
    return 0


@compiled()
def pointer(octets: Any, cursor: Any, end: Any, encoding: Any, address: Any, word: Any) -> Any:
    """A pointer in an encoding (LSB 5.0 core, section 10.5.1); ``address`` is the cursor's. A wrong one: cursor -1.

    An indirect one is not followed: its own address is no address of code here.
    """
    form, at = encoding & 0x0F, cursor[0]
    value, size = 0, 0
    if form == 0x01 or form == 0x09:
        value = leb(octets, cursor, end, form == 0x09)
    else:
        size = 8 if form == 0x04 or form == 0x0C else 4 if form == 0x03 or form == 0x0B else 2
        size = word if form == 0x00 else size
        if form == 0x05 or form == 0x06 or form == 0x07 or form == 0x08 or form > 0x0C or form == 0x01:
            cursor[0] = -1
            return 0
        if at < 0 or at + size > end:
            cursor[0] = -1
            return 0
        value = signed_number(octets, at, size)
        if form < 0x08 and size < 8:
            value &= (1 << (8 * size)) - 1
        cursor[0] = at + size
    if value != 0 and encoding & 0x70 == 0x10:
        value += address
    elif value != 0 and encoding & 0x70 != 0x00:
        cursor[0] = -1
    return value


@compiled(pays_from=400000)
def count_entries(table: Any) -> Any:
    """How many CIEs and FDEs a section has at most: by its lengths alone."""
    octets, at, end = table.octets, table.begin, table.end
    count = 0
    while at + 4 <= end:
        length, head = signed_number(octets, at, 4) & _NO_LENGTH, 4
        if length == _NO_LENGTH and at + 12 <= end:
            length, head = signed_number(octets, at + 4, 8), 12
        if length == 0 and table.is_eh:
            break
        if length < 0 or at + head + length > end:
            break
        at += head + length
        count += 1
    return count


@compiled(pays_from=400000)
def read_entries(table: Any, cies: Any, places: Any, entries: Any, cursor: Any) -> Any:
    """Fill in all entries; how many there are, and where reading ended: at the section's end, unless a length is wrong.

    ``cies`` and ``places`` have room for as many as `count_entries` says; ``places`` are those of the CIEs, ascending.
    """
    octets, at, end = table.octets, table.begin, table.end
    known, count = 0, 0
    while at + 4 <= end:
        length, head = signed_number(octets, at, 4) & _NO_LENGTH, 4
        if length == _NO_LENGTH and at + 12 <= end:
            length, head = signed_number(octets, at + 4, 8), 12
        if length == 0:
            if table.is_eh:
                return known, count, end
            at += 4
            continue
        body, following = at + head, at + head + length
        size = 4 if table.is_eh or head == 4 else 8
        if length < 0 or following > end:
            return known, count, at
        if length >= size:
            named = signed_number(octets, body, size)
            is_cie = named == (0 if table.is_eh else -1)
            if is_cie:
                known = known_cie(table, at, cies, places, known, cursor)
            else:
                named = body - named if table.is_eh else table.begin + (named & _NO_LENGTH if size == 4 else named)
                if named > at:  # a CIE behind its FDE
                    known = known_cie(table, named, cies, places, known, cursor)
                which = place_of(places, known, named)
                read_fde(table, (body + size, following), which, cies, entries[count], cursor)
                if entries[count, STATE] != REMOVED:
                    count += 1
        at = following
    return known, count, end if at == end else at


@compiled()
def place_of(places: Any, known: Any, wanted: Any) -> Any:
    """Which of the known CIEs stands at a place, or -1."""
    low, high = 0, known
    while low < high:
        middle = (low + high) // 2
        if places[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < known and places[low] == wanted else -1


@compiled()
def known_cie(table: Any, at: Any, cies: Any, places: Any, known: Any, cursor: Any) -> Any:
    """Read a CIE, unless it is known; how many are known then. One out of order is not kept."""
    if place_of(places, known, at) >= 0 or (known > 0 and places[known - 1] > at) or known >= len(places):
        return known
    octets = table.octets
    if at < table.begin or at + 12 > table.end:
        return known
    length, head = signed_number(octets, at, 4) & _NO_LENGTH, 4
    if length == _NO_LENGTH:
        length, head = signed_number(octets, at + 4, 8), 12
    size = 4 if table.is_eh or head == 4 else 8
    end = at + head + length
    places[known] = at
    cies[known, CIE_STATE] = BAD_CIE
    if length > 0 and end <= table.end and length >= size + 4:
        cursor[0] = at + head + size
        read_cie(table, end, cies[known], cursor)
    return known + 1


@compiled()
def read_cie(table: Any, end: Any, cie: Any, cursor: Any) -> Any:
    """Fill in a CIE; the cursor is behind its id. Its state stays BAD_CIE where it cannot be read."""
    octets, at = table.octets, cursor[0]
    version = int(octets[at])
    letters = at + 1
    at = letters
    while at < end and octets[at] != 0:
        at += 1
    if at >= end or (version != 1 and version != 3 and version != 4):
        return
    has_data = octets[letters] == ord("z")
    cie[POINTERS], cie[LANDINGS], cie[IS_SIGNAL] = 0, _OMITTED, 0
    cursor[0] = at + 1 + (2 if version == 4 else 0)
    cie[CODE_FACTOR] = leb(octets, cursor, end, False)
    cie[DATA_FACTOR] = leb(octets, cursor, end, True)
    if version == 1 and 0 <= cursor[0] < end:
        cie[RETURN_COLUMN] = int(octets[cursor[0]])
        cursor[0] += 1
    else:
        cie[RETURN_COLUMN] = leb(octets, cursor, end, False)
    cie[HAS_DATA] = 1 if has_data else 0
    following = leb(octets, cursor, end, False) if has_data else 0
    following += cursor[0]
    if cursor[0] < 0 or following > end or following < cursor[0]:
        return
    for k in range(letters + (1 if has_data else 0), at):
        letter = int(octets[k])
        if letter == ord("R") and cursor[0] < following:
            cie[POINTERS] = int(octets[cursor[0]])
            cursor[0] += 1
        elif letter == ord("L") and cursor[0] < following:
            cie[LANDINGS] = int(octets[cursor[0]])
            cursor[0] += 1
        elif letter == ord("P") and cursor[0] < following:
            encoding = int(octets[cursor[0]])
            cursor[0] += 1
            if encoding != _OMITTED:
                pointer(octets, cursor, following, encoding & 0x0F, 0, table.word)
        elif letter == ord("S"):
            cie[IS_SIGNAL] = 1
        elif letter != ord("B") and letter != ord("G"):
            return
        if cursor[0] < 0:
            return
    cie[BEGIN], cie[FINISH], cie[CIE_STATE] = following, end, READ


@compiled()
def read_fde(table: Any, extent: Any, which: Any, cies: Any, entry: Any, cursor: Any) -> Any:
    """Fill in the FDE of one CIE, from behind its pointer to its end."""
    begin, end = extent
    octets, entry[CIE] = table.octets, which
    entry[START] = entry[END] = entry[LANDING_TABLE] = 0
    entry[STATE] = BAD_CIE
    if which < 0 or cies[which, CIE_STATE] != READ:
        return
    encoding = cies[which, POINTERS]
    entry[STATE] = BAD_ENTRY
    if encoding == _OMITTED or encoding & _INDIRECT:
        return
    cursor[0] = begin
    start = pointer(octets, cursor, end, encoding, table.address + begin - table.begin, table.word)
    size = pointer(octets, cursor, end, encoding & 0x0F, 0, table.word)
    if cursor[0] < 0 or size < 0 or size > 1 << 40 or not -1 <= start < 1 << 60:
        return
    entry[START], entry[END] = start, start + size
    if start == 0 or start == -1:
        entry[STATE] = REMOVED
        return
    if cies[which, HAS_DATA]:
        length = leb(octets, cursor, end, False)
        following = cursor[0] + length
        if cursor[0] < 0 or length < 0 or following > end:
            return
        landings = cies[which, LANDINGS]
        if landings != _OMITTED and landings & _INDIRECT == 0 and cursor[0] < following:
            at = cursor[0]
            address = table.address + at - table.begin
            entry[LANDING_TABLE] = pointer(octets, cursor, following, landings, address, table.word)
            if cursor[0] < 0:
                return
        cursor[0] = following
    entry[PROGRAM], entry[PROGRAM_END], entry[STATE] = cursor[0], end, READ
