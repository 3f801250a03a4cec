"""`.orc_unwind` and `.orc_unwind_ip`: the table that objtool makes of kernel code, as rows.

Layout (Linux, arch/x86/include/asm/orc_types.h; all values little-endian)::

    .orc_unwind_ip   4 bytes per entry: the distance from here to the first pc that the entry is for
    .orc_unwind      6 bytes per entry: offset to the previous SP (2, signed), offset to BP (2, signed), and
                     bits 0-3    register that the previous SP counts from
                     bits 4-7    register that BP's place counts from
                     up to Linux 6.2     8-9 type: 0 call, 1 registers, 2 interrupt frame; 10 end of the stack
                     from Linux 6.4 on   8-10 type: 0 nothing known, 1 end of the stack, 2 call, 3 registers,
                                         4 interrupt frame; 11 the caller was interrupted
    .orc_header      20 bytes: a hash of orc_types.h, which names the layout (from Linux 6.5 on)

An entry is for the code up to the next one. "Previous SP" is the CFA. The order of the entries is the linker's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from weakref import WeakKeyDictionary

from testbed.contract.rows import RowTable
from testbed.image import Image
from testbed.words.errors import NoUnwindInfo, UnsupportedRule
from unwinders.formats.orc_rows import Kind, OrcEntry, OrcRegister, entry_row
from unwinders.formats.reader import Reader
from unwinders.formats.sections import ORC_ENTRIES, ORC_HEADER, ORC_PLACES

ENTRIES, PLACES, HEADER = ORC_ENTRIES, ORC_PLACES, ORC_HEADER

_ENTRY, _PLACE = 6, 4  # bytes
_HASH_SINCE_6_4 = bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24")  # what scripts/orc_hash.sh gives


class OrcLayout(Enum):
    """What the bits from 8 on mean; the value says which kernels."""

    UP_TO_6_2 = "up to Linux 6.2"
    SINCE_6_4 = "from Linux 6.4 on"


@dataclass(frozen=True, slots=True)
class _Raw:
    """An entry, its bits not interpreted; ``offset`` is its place in `.orc_unwind`."""

    offset: int
    start: int
    sp_offset: int
    bp_offset: int
    bits: int

    @property
    def sp_register(self) -> int:
        return self.bits & 0xF


_TABLES: WeakKeyDictionary[Image, dict[OrcLayout | None, RowTable]] = WeakKeyDictionary()


def orc_table(image: Image, layout: OrcLayout | None = None) -> RowTable:
    """All rows of an image, sorted by pc, in link-time addresses; read once per image.

    Without a ``layout`` it is the one that `.orc_header` names, or, where no header is, the one that the entries
    prove. Raises NoUnwindInfo where a section is missing, MalformedTable where the bytes break the format,
    UnsupportedRule for a header that is not known here.
    """
    tables = _TABLES.setdefault(image, {})
    if layout not in tables:
        tables[layout] = _read(image, layout)
    return tables[layout]


def _read(image: Image, layout: OrcLayout | None) -> RowTable:
    raw = list(_entries(image))
    layout = layout or layout_of(image, raw)
    entries = [_interpreted(entry, layout) for entry in raw]
    # Of two entries for one pc, the one that says nothing stands for a gap that the other fills.
    entries.sort(key=lambda entry: (entry.start, entry.kind is not Kind.NOTHING))
    ends = [*(entry.start for entry in entries), 1 << (8 * image.arch.word)][1:]
    rows = []
    for entry, end in zip(entries, ends, strict=False):
        row = entry_row(entry, min(end, _end_of_code(image, entry.start)), ENTRIES)
        if row is not None and row.start < row.end:
            rows.append(row)
    return RowTable(ENTRIES, tuple(rows))


def _entries(image: Image) -> Iterator[_Raw]:
    found, places = image.sections.get(ENTRIES), image.sections.get(PLACES)
    if found is None or places is None:
        raise NoUnwindInfo(f"{image} has no {ENTRIES if found is None else PLACES}")
    reader, at = Reader(ENTRIES, found.address, found.data), Reader(PLACES, places.address, places.data)
    if reader.left % _ENTRY:
        raise reader.error(f"the section has {reader.left} bytes, which are no entries of {_ENTRY}", at=0)
    if at.left * _ENTRY != reader.left * _PLACE:
        raise at.error(f"{at.left} bytes of places for {reader.left // _ENTRY} entries", at=0)
    while reader.left:
        offset, place = reader.offset, at.address + at.offset
        start = place + at.signed(_PLACE) & image.arch.word_mask
        yield _Raw(offset, start, reader.signed(2), reader.signed(2), reader.unsigned(2))


def layout_of(image: Image, entries: list[_Raw]) -> OrcLayout:
    """The layout that an image's entries are in. Raises UnsupportedRule where nothing decides it.

    `.orc_header` names it. Objects straight from objtool have none. Then an entry of type 0 that names an SP register
    proves the older layout: in the newer one it says that nothing is known, and objtool leaves the register out. And
    an older table has such an entry at the first instruction of every function, so one without them is newer.
    """
    header = image.sections.get(HEADER)
    if header is not None:
        if header.data != _HASH_SINCE_6_4:
            raise UnsupportedRule(f"{HEADER} names a layout that is not known here: {header.data.hex()}")
        return OrcLayout.SINCE_6_4
    if any(entry.bits >> 8 & 7 == 0 and entry.sp_register for entry in entries):
        return OrcLayout.UP_TO_6_2
    if any(entry.sp_register for entry in entries):
        return OrcLayout.SINCE_6_4
    raise UnsupportedRule(f"neither a {HEADER} nor an entry says which layout {ENTRIES} has")


def _interpreted(raw: _Raw, layout: OrcLayout) -> OrcEntry:
    kinds: dict[int, Kind]
    if layout is OrcLayout.UP_TO_6_2:
        kind, rest = raw.bits >> 8 & 3, raw.bits >> 11
        kinds = {0: Kind.CALL, 1: Kind.REGISTERS, 2: Kind.INTERRUPT}
        if raw.sp_register == OrcRegister.NONE:
            kinds = dict.fromkeys(kinds, Kind.END if raw.bits >> 10 & 1 else Kind.NOTHING)
        signal = kind in (1, 2)
    else:
        kind, rest = raw.bits >> 8 & 7, raw.bits >> 12
        kinds = {0: Kind.NOTHING, 1: Kind.END, 2: Kind.CALL, 3: Kind.REGISTERS, 4: Kind.INTERRUPT}
        signal = bool(raw.bits >> 11 & 1)
    reader = Reader(ENTRIES, 0, b"")
    if kind not in kinds or rest:
        raise reader.error(f"{raw.bits:#06x} is no entry of the layout {layout.value}", at=raw.offset)
    try:
        sp, bp = OrcRegister(raw.sp_register), OrcRegister(raw.bits >> 4 & 0xF)
    except ValueError as error:
        raise reader.error(f"{raw.bits:#06x}: {error}", at=raw.offset) from error
    return OrcEntry(raw.offset, raw.start, kinds[kind], sp, raw.sp_offset, bp, raw.bp_offset, signal)


def _end_of_code(image: Image, start: int) -> int:
    """No entry reaches beyond the executable segment that it starts in: the last one has no successor to end it."""
    ends = (s.address + s.size for s in image.segments if s.executable and s.address <= start < s.address + s.size)
    return max(ends, default=start)
