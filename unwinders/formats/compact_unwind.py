"""`__TEXT,__unwind_info`: Apple's compact unwind table, a sorted two-level index of 32-bit encodings.

Layout (LLVM, ``include/mach-o/compact_unwind_encoding.h``; every number little-endian, 4 bytes unless said)::

    header: version 1; then {offset, count} of the common encodings, of the personalities, of the first-level index
    common encodings, personalities: arrays of numbers
    first-level index: {function offset, offset of the second-level page, offset into the LSDA index}, sorted;
        the last one has no page: it is where the last function ends
    regular page (2):    offset of the entries (2 bytes), count (2); entries {function offset, encoding}
    compressed page (3): offset of the entries (2), count (2), offset of the page's encodings (2), count (2);
        entries: bits 0-23 distance from the index entry's function offset, bits 24-31 number of the encoding,
        the common encodings first, then the page's own

Function offsets count from the image's base, page offsets from the section, offsets in a page from the page. An entry
holds up to the next one. What an encoding means is in `unwinders.formats.compact_unwind`. The LSDA index and the
personalities are for exceptions: they are not needed to find a caller, and are not read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from struct import unpack_from

from testbed.arch import PerArch
from testbed.contract.rows import BrokenPart, Offset, RegisterPlus, RowTable, Rule, UnwindRow
from testbed.image import Image, once_per_image
from testbed.words.errors import MalformedTable, NoUnwindInfo
from unwinders.formats.cfi import cfi_index, cfi_section
from unwinders.formats.indexed import IndexedTable, Part, up_to_the_next
from unwinders.formats.reader import Reader, reader_of
from unwinders.formats.sections import MACH_O_EH_FRAME, UNWIND_INFO

# Compact unwind encodings: 32 bits that say how one function's finished frame is undone.
#
# Common to all (LLVM, ``include/mach-o/compact_unwind_encoding.h``): bits 24-27 mode, bits 28-31 flags for exceptions;
# an encoding of 0 says that nothing is known. With W = 8 bytes::
#
#   arm64
#     2 frameless   bits 12-23 size of the frame in units of 16 bytes; CFA = sp + size, return address in x30
#     3 DWARF       bits 0-23 offset of the FDE in __eh_frame
#     4 frame       CFA = x29 + 2W, x29 at CFA - 2W, x30 at CFA - W
#     frame, frameless: bits 0-4 the pairs x19/x20 ... x27/x28, bits 8-11 the pairs d8/d9 ... d14/d15 are saved, one
#     register below the other in this order, below the frame record or the CFA
#
#   x86_64
#     1 rbp frame   CFA = rbp + 2W, rbp at CFA - 2W; bits 16-23 distance in words from rbp down to the saved registers,
#                   bits 0-14 five of them in 3 bits each, upwards from there; 0 is none
#     2 immediate   CFA = rsp + bits 16-23 in words
#     3 indirect    CFA = rsp + the 4-byte immediate in the function's code at offset bits 16-23 + bits 13-15 in words
#     2, 3          bits 10-12 number of saved registers, bits 0-9 which, as a permutation; they lie one above the
#                   other, the last one below the return address
#     4 DWARF       as above
#     in all of them the return address is at CFA - W
#     registers are numbered rbx 1, r12 2, r13 3, r14 4, r15 5, rbp 6
#
# A frameless arm64 function that saves registers is a leaf with many values (a decoder's inner loop; `busy_leaf` of
# the corpus): ``stp x20, x19, [sp, #32]`` in a frame of 48 bytes puts x19 at CFA - W. LLVM's libunwind 22 reads it one
# word higher, at the CFA, and symbolic 13.9 restores no register there: neither meets one in an exception, a leaf
# throws none.
#
# A permutation of n of 6 numbers: digit i, of base 6 - i, counts the numbers below the i-th that are still unused.

_W = 8
_IMMEDIATE = 4  # bytes of the operand of `sub rsp, imm32`


@dataclass(frozen=True, slots=True)
class Encoded:
    """An entry of the table: ``encoding`` for the function at the link-time pcs ``[start, end)``.

    ``offset`` is where the entry stands in its section. A linker gives neighbours with equal encodings one entry.
    """

    start: int
    end: int
    encoding: int
    offset: int


@dataclass(frozen=True, slots=True)
class DwarfMode:
    """The mode that defers: the FDE at this offset of `__eh_frame` has the rows.

    No FDE stands at 0, a CIE does: there the section is to be searched for the function (so LLVM's libunwind; lld 14
    writes no other offset).
    """

    offset: int


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """One function's frame: its CFA, and where registers are saved, as offsets from the CFA."""

    cfa: RegisterPlus
    saved: Mapping[str, int]


_Decoded = FrameLayout | DwarfMode | str  # str: what is wrong with the encoding


def encoded_row(image: Image, entry: Encoded, section: str) -> UnwindRow | DwarfMode | None:
    """The row of an entry, or where it is, or None: nothing is known. Raises MalformedTable for an encoding that
    its architecture does not have."""
    if not entry.encoding:
        return None
    layout_of = _LAYOUTS[image.arch.name]
    found = layout_of(image, entry) if layout_of else f"{image.arch} has no compact encodings here"
    if isinstance(found, str):
        raise MalformedTable(section, entry.offset, f"encoding {entry.encoding:#010x}: {found}")
    if isinstance(found, DwarfMode):
        return found
    rules: dict[str, Rule] = {name: Offset(offset) for name, offset in found.saved.items()}
    found_by = f"{section}+{entry.offset:#x}"
    return UnwindRow(entry.start, entry.end, found.cfa, rules, image.arch.return_address, found_by=found_by)


def _mode(encoding: int) -> int:
    return encoding >> 24 & 0xF


_ARM64_PAIRS = (
    *((1 << i, (f"x{19 + 2 * i}", f"x{20 + 2 * i}")) for i in range(5)),
    *((0x100 << i, (f"d{8 + 2 * i}", f"d{9 + 2 * i}")) for i in range(4)),
)


def _arm64(image: Image, entry: Encoded) -> _Decoded:
    encoding = entry.encoding
    saved: dict[str, int] = {}
    match _mode(encoding):
        case 2:
            cfa = RegisterPlus("sp", (encoding >> 12 & 0xFFF) * 16)
        case 3:
            return DwarfMode(encoding & 0xFF_FFFF)
        case 4:
            cfa = RegisterPlus("x29", 2 * _W)
            saved = {"x29": -2 * _W, "x30": -_W}
        case mode:
            return f"mode {mode} is none of 2, 3, 4"
    below = -_W * len(saved)
    for bit, pair in _ARM64_PAIRS:
        if encoding & bit:
            for name in pair:
                below -= _W
                saved[name] = below
    if _mode(encoding) != 4 and -below > cfa.offset:
        return f"{-below} bytes of saved registers in a frame of {cfa.offset}"
    return FrameLayout(cfa, saved)


_X86_64 = (None, "rbx", "r12", "r13", "r14", "r15", "rbp")
_MOST_SAVED = 6


def _x86_64(image: Image, entry: Encoded) -> _Decoded:
    encoding = entry.encoding
    field = encoding >> 16 & 0xFF
    match _mode(encoding):
        case 1:
            return _x86_64_frame(encoding, field)
        case 2:
            return _x86_64_frameless(encoding, field * _W)
        case 3:
            immediate = image.bytes_at(entry.start + field, _IMMEDIATE)
            if len(immediate) < _IMMEDIATE:
                return f"no code at {entry.start + field:#x}, where the size of the frame should be"
            size = int.from_bytes(immediate, "little") + (encoding >> 13 & 7) * _W
            return _x86_64_frameless(encoding, size)
        case 4:
            return DwarfMode(encoding & 0xFF_FFFF)
        case mode:
            return f"mode {mode} is none of 1 to 4"


def _x86_64_frame(encoding: int, words: int) -> _Decoded:
    saved = {"rip": -_W, "rbp": -2 * _W}
    for i in range(5):
        number = encoding >> 3 * i & 7
        if not number:
            continue
        name = _X86_64[number] if number < len(_X86_64) else None
        if name is None or name in saved:
            return f"register {number} cannot be saved in place {i}"
        if i >= words:
            return f"register {number} would be saved at rbp or above"
        saved[name] = (i - words - 2) * _W
    return FrameLayout(RegisterPlus("rbp", 2 * _W), saved)


def _x86_64_frameless(encoding: int, size: int) -> _Decoded:
    count = encoding >> 10 & 7
    if count > _MOST_SAVED:
        return f"{count} saved registers of {_MOST_SAVED}"
    if size < (count + 1) * _W:
        return f"{count} saved registers and a return address in a frame of {size} bytes"
    order = permutation(encoding & 0x3FF, count)
    if order is None:
        return f"there is no permutation {encoding & 0x3FF} of {count} registers"
    saved = {"rip": -_W}
    for i, number in enumerate(order):
        name = _X86_64[number]
        assert name is not None
        saved[name] = -_W * (1 + count - i)
    return FrameLayout(RegisterPlus("rsp", size), saved)


def permutation(number: int, count: int) -> tuple[int, ...] | None:
    """The ``count`` register numbers, of 1 to 6, that a permutation number stands for; None: it is too big."""
    digits = []
    for base in range(_MOST_SAVED - count + 1, _MOST_SAVED + 1):  # the last digit has the smallest base
        number, digit = divmod(number, base)
        digits.append(digit)
    if number:
        return None
    unused = list(range(1, _MOST_SAVED + 1))
    return tuple(unused.pop(digit) for digit in reversed(digits))


# An encoding means what its processor's part of the header file says.
_LAYOUTS = PerArch[Callable[[Image, Encoded], _Decoded] | None](
    {"x86_64": _x86_64, "arm64": _arm64, "arm32": None},
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)


SECTION, FRAME = UNWIND_INFO, MACH_O_EH_FRAME

_VERSION = 1
_REGULAR, _COMPRESSED = 2, 3


@dataclass(frozen=True, slots=True)
class FirstLevelEntry:
    """One entry of the first-level index: a second-level page for the link-time pcs ``[start, end)``."""

    start: int
    end: int
    offset: int  # in the section; 0: nothing is known about these pcs
    no_end: MalformedTable | None = None  # the entry behind it is broken: where its last function ends is not known


@dataclass(frozen=True, eq=False)
class CompactTable:
    """The index of one image. Second-level pages are read as they are asked for, like a consumer that searches."""

    image: Image
    common: tuple[int, ...] = field(repr=False)
    pages: tuple[FirstLevelEntry, ...] = field(repr=False)
    read: dict[int, IndexedTable | MalformedTable] = field(default_factory=dict, repr=False)  # by number of the page

    def at(self, pc: int) -> UnwindRow | None:
        """The row in force at a link-time pc, or None: nothing is known there.

        Raises MalformedTable where the page or the entry that a search comes to is broken, UnsupportedRule where the
        entry has a mode that does not exist on this architecture. Others are not looked at.
        """
        number = bisect_right(self.pages, pc, key=lambda page: page.start) - 1
        if number < 0 or pc >= self.pages[number].end:
            return None
        found = self.page(number)
        if isinstance(found, MalformedTable):
            raise found.again()
        return found.at(pc)

    def page(self, number: int) -> IndexedTable | MalformedTable:
        """The functions of one page, or what is wrong with all of it."""
        if number not in self.read:
            try:
                entries = self.entries(number)
                parts = tuple(Part(entry.start, entry.end, i) for i, entry in enumerate(entries))
                self.read[number] = IndexedTable(SECTION, parts, partial(_rows, self.image, entries))
            except MalformedTable as why:
                self.read[number] = why.again()
        return self.read[number]

    def entries(self, number: int) -> tuple[Encoded | BrokenPart, ...]:
        """The entries of one page, sorted and disjoint. Raises MalformedTable where its bytes break the format."""
        return _read_page(self.image, self.pages[number], self.common)

    def all_rows(self) -> RowTable:
        """What a search finds at any pc. Where pages share bytes without end, the last ones are too costly."""
        rows: list[UnwindRow] = []
        broken: list[BrokenPart] = []
        for number, page in enumerate(self.pages):
            found = self.page(number)
            if isinstance(found, MalformedTable):
                broken.append(BrokenPart(page.start, page.end, found))
                continue
            table = found.all_rows()
            rows += table.rows
            broken += table.broken
        return RowTable(SECTION, tuple(rows), tuple(broken))


@once_per_image
def compact_table(image: Image) -> CompactTable:
    """The compact unwind table of an image, its header and first-level index read once.

    Raises NoUnwindInfo where the image has none, MalformedTable where the header breaks the format.
    """
    reader = _reader(image)
    version, common_at, common_count, _, _, index_at, index_count = (reader.unsigned(4) for _ in range(7))
    if version != _VERSION:
        raise reader.error(f"version {version} is not {_VERSION}", at=0)
    common = _numbers(reader, common_at, common_count)
    fields = _numbers(reader, index_at, 3 * index_count)
    starts = [image.base + offset for offset in fields[0::3]]
    pages: list[FirstLevelEntry] = []
    for part, hidden in up_to_the_next(starts, 1 << (8 * image.arch.word)):
        why = None if hidden is None else _not_sorted(reader, starts, hidden, index_at, 12, "index entry")
        if part.entry == hidden:  # no page that could be read lies before the broken one
            pages.append(FirstLevelEntry(part.start, part.end, 0, why))
        elif part.entry < len(starts) - 1:  # the last one is where the last function ends
            pages.append(FirstLevelEntry(part.start, part.end, fields[3 * part.entry + 1], why))
    return CompactTable(image, common, tuple(pages))


def _reader(image: Image) -> Reader:
    section = image.sections.get(SECTION)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    return reader_of(image, section, SECTION)


def _numbers(reader: Reader, offset: int, count: int) -> tuple[int, ...]:
    """``count`` 4-byte numbers at an offset of the section, or of a page."""
    part = reader.part(offset, offset + 4 * count)
    part.spend("entries", count // 2)  # pages, and what they name, may be the same bytes many times
    return unpack_from(f"<{count}I", part.data, offset)


def _not_sorted(reader: Reader, starts: Sequence[int], i: int, offset: int, size: int, what: str) -> MalformedTable:
    return reader.error(f"{what} {i} is for {starts[i]:#x}: not sorted", at=offset + i * size)


def _read_page(image: Image, page: FirstLevelEntry, common: tuple[int, ...]) -> tuple[Encoded | BrokenPart, ...]:
    reader = _reader(image)
    if not page.offset:
        if page.no_end is not None:
            raise page.no_end
        return ()
    head = reader.part(page.offset, len(reader.data))
    kind = head.unsigned(4)
    entries_at, count = page.offset + head.unsigned(2), head.unsigned(2)
    encodings: list[int | MalformedTable]
    if kind == _REGULAR:
        fields = _numbers(reader, entries_at, 2 * count)
        starts, encodings, size = [image.base + offset for offset in fields[0::2]], list(fields[1::2]), 8
    elif kind == _COMPRESSED:
        own_at, own_count = page.offset + head.unsigned(2), head.unsigned(2)
        known = (*common[:256], *_numbers(reader, own_at, own_count))
        fields, size = _numbers(reader, entries_at, count), 4
        starts = [page.start + (value & 0xFF_FFFF) for value in fields]
        encodings = [
            known[value >> 24]
            if value >> 24 < len(known)
            else reader.error(f"encoding {value >> 24} of {len(known)}", at=entries_at + i * size)
            for i, value in enumerate(fields)
        ]
    else:
        raise reader.error(f"a page of kind {kind} is neither regular (2) nor compressed (3)", at=page.offset)
    entries: list[Encoded | BrokenPart] = []
    for part, hidden in up_to_the_next(starts, page.end):
        encoding, why = encodings[part.entry], page.no_end if part.end == page.end else None
        if hidden is not None:
            why = _not_sorted(reader, starts, hidden, entries_at, size, "entry")
        start, end = page.start if part.entry == hidden else part.start, min(part.end, page.end)
        if not page.start <= start < end:
            continue
        if isinstance(encoding, MalformedTable):
            why = why or encoding
        elif why is None:
            entries.append(Encoded(start, end, encoding, entries_at + part.entry * size))
        if why is not None:
            entries.append(BrokenPart(start, end, why))
    return tuple(entries)


def _rows(image: Image, entries: Sequence[Encoded | BrokenPart], part: Part) -> Sequence[UnwindRow]:
    """The rows of one entry: one, or none, or those of the FDE that it defers to."""
    entry = entries[part.entry]
    if isinstance(entry, BrokenPart):
        raise entry.why.again()
    found = encoded_row(image, entry, SECTION)
    if not isinstance(found, DwarfMode):
        return () if found is None else (found,)
    if FRAME not in image.sections:
        raise _reader(image).error(f"an entry defers to {FRAME}, which is not there", at=entry.offset)
    if found.offset:
        return cfi_section(image, FRAME).rows_at(found.offset)
    return cfi_index(image, FRAME).rows_around(entry.start)
