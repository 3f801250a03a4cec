"""`.eh_frame` and `.debug_frame` as tables (DWARF 5, section 6.4; LSB 5.0 core, section 10.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import TypeVar

from testbed.arch import Arch
from testbed.contract.rows import UnwindRow
from testbed.image import Image, once_per_image
from testbed.words.errors import MalformedTable, NoUnwindInfo
from unwinders.formats.cfi_entries import (
    Cie,
    checked_end,
    cie_at,
    cie_mark,
    cie_named,
    entry_at,
    fde_at,
    fde_place,
    is_eh_frame,
)
from unwinders.formats.cfi_rows import InitialState, fde_rows, initial_state
from unwinders.formats.indexed import IndexedTable, Part, first_holds
from unwinders.formats.reader import ABSOLUTE, Reader, reader_of

# The light pass over `.eh_frame` and `.debug_frame`: which pcs each FDE is for, and nothing else of it.
#
# An entry's length leads to the next one, so a wrong length is the whole section's. All else is one entry's: an FDE
# whose first pc cannot be read, because of itself or of its CIE, is listed without a place.

MAX_ENTRIES = 1_000_000
_RELATIVE_SIGNED_4 = 0x1B
_HEAD = Struct("<II")  # of an entry: its length, and the CIE pointer where that has four bytes


@dataclass(frozen=True, slots=True)
class FdeRange:
    """An FDE at a section offset, for the link-time pcs ``[start, end)``."""

    offset: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class UnplacedFde:
    """An FDE whose pcs are not known."""

    offset: int
    why: MalformedTable


def fde_ranges(reader: Reader, word: int, cie_at: Callable[[int], Cie]) -> Iterator[FdeRange | UnplacedFde]:
    """Every FDE of a section, in file order. Raises MalformedTable where a length breaks the format.

    FDEs of code that the linker removed are left out: their first pc is 0, or the highest address (lld). Nothing runs
    there.
    """
    is_eh, data, size = is_eh_frame(reader.section), reader.data, len(reader.data)
    mark = cie_mark(is_eh, 4)
    usual: dict[int, _UsualFde | None] = {}  # by offset of the CIE
    offset = 0
    for _ in range(MAX_ENTRIES):
        if offset == size:
            return
        length, pointer = _HEAD.unpack(data[offset : offset + 8].ljust(8, b"\xff"))
        following = offset + 4 + length
        if length == 0:
            if is_eh:
                return
            offset = following
            continue
        found: FdeRange | UnplacedFde | None = None
        if length >= 4 and following <= size:
            if pointer == mark:
                offset = following
                continue
            named = offset + 4 - pointer if is_eh else pointer
            if named not in usual:
                usual[named] = _usual(named, word, cie_at)
            layout = usual[named]
            found = layout.range(reader, offset, following) if layout else None
        if found is None:
            found, following = _range(reader, offset, word, cie_at)
        if found is not None:
            yield found
        offset = following
    raise reader.error(f"more than {MAX_ENTRIES} entries", at=offset)


def _range(
    reader: Reader, offset: int, word: int, cie_at: Callable[[int], Cie]
) -> tuple[FdeRange | UnplacedFde | None, int]:
    """The range of any FDE and where the entry ends; None for a CIE and for the FDE of removed code."""
    entry, size = entry_at(reader, offset)
    try:
        named = cie_named(entry, offset, size)
        if named is None:
            return None, entry.end
        place = fde_place(entry, offset, cie_at(named), word)
        if place[0] in (0, (1 << (8 * word)) - 1):
            return None, entry.end
        return FdeRange(offset, place[0], checked_end(entry, offset, place, word)), entry.end
    except MalformedTable as why:
        return UnplacedFde(offset, why.again()), entry.end


@dataclass(frozen=True, slots=True)
class _UsualFde:
    """How compilers have an FDE say its pcs: the first one and the number of bytes, and what the first counts from."""

    layout: Struct
    is_relative: bool
    limit: int  # the first address that needs a closer look

    def range(self, reader: Reader, offset: int, end: int) -> FdeRange | None:
        """None where anything about an FDE needs a closer look."""
        at = offset + 8
        if at + self.layout.size > end:
            return None
        start, size = self.layout.unpack_from(reader.data, at)
        if start and self.is_relative:
            start += reader.address + at
        if not 0 < start < self.limit or size >> 31 or start + size > self.limit:
            return None
        return FdeRange(offset, start, start + size)


def _usual(cie_offset: int, word: int, cie_at: Callable[[int], Cie]) -> _UsualFde | None:
    """The layout of the FDEs of one CIE, if it is a usual one."""
    try:
        encoding = cie_at(cie_offset).pointer_encoding
    except MalformedTable:
        return None
    limit = 1 << (8 * word - 1)
    if encoding == _RELATIVE_SIGNED_4:
        return _UsualFde(Struct("<iI"), True, limit)
    if encoding == ABSOLUTE:
        return _UsualFde(Struct("<QQ" if word == 8 else "<II"), False, limit)
    return None


@dataclass(frozen=True, eq=False)
class CfiSection:
    """One section of an image, and what has been read of it until now: CIEs and rows by their section offsets."""

    reader: Reader
    arch: Arch
    cies: dict[int, Cie | MalformedTable] = field(default_factory=dict, repr=False)
    states: dict[int, InitialState | MalformedTable] = field(default_factory=dict, repr=False)
    rows: dict[int, Sequence[UnwindRow]] = field(default_factory=dict, repr=False)

    def cie_at(self, offset: int) -> Cie:
        """The CIE at an offset. Raises MalformedTable where nothing of it can be used."""
        return _kept(self.cies, offset, lambda: cie_at(self.reader, offset, self.arch.word))

    def rows_at(self, offset: int) -> Sequence[UnwindRow]:
        """The rows of the FDE at an offset. Raises MalformedTable where it, or its CIE, cannot be read."""
        if offset not in self.rows:
            fde = fde_at(self.reader, offset, self.arch.word, self.cie_at)
            state = _kept(self.states, fde.cie.offset, lambda: initial_state(fde.cie, self.reader, self.arch))
            self.rows[offset] = fde_rows(fde, self.reader, self.arch, state)
        return self.rows[offset]


Read = TypeVar("Read", Cie, InitialState)


def _kept(known: dict[int, Read | MalformedTable], offset: int, read: Callable[[], Read]) -> Read:
    """What is read at an offset, or what is wrong there: found out once, and raised each time anew."""
    if offset not in known:
        try:
            known[offset] = read()
        except MalformedTable as why:
            known[offset] = why.again()
    found = known[offset]
    if isinstance(found, MalformedTable):
        raise found.again()
    return found


@once_per_image
def cfi_section(image: Image, section: str) -> CfiSection:
    """A section of call frame information, to be read entry by entry. Raises NoUnwindInfo where there is none."""
    found = image.sections.get(section)
    if found is None:
        raise NoUnwindInfo(f"{image} has no {section}")
    return CfiSection(reader_of(image, found, section), image.arch)


@once_per_image
def cfi_index(image: Image, name: str) -> IndexedTable:
    """Which FDE of a section each pc of an image has; an FDE is interpreted when it is asked for.

    Where FDEs overlap, the first one in the section holds, as for every consumer that searches the section
    linearly. What breaks the format in one FDE, or in the CIE of several, is theirs only. Raises NoUnwindInfo where
    the image has no such section, MalformedTable where the length of an entry is wrong: that hides all that follow.
    """
    section = cfi_section(image, name)
    placed: list[FdeRange] = []
    unplaced: list[UnplacedFde] = []
    for found in fde_ranges(section.reader, section.arch.word, section.cie_at):
        if isinstance(found, UnplacedFde):
            unplaced.append(found)
        else:
            placed.append(found)

    def read(part: Part) -> Sequence[UnwindRow]:
        return section.rows_at(placed[part.entry].offset)

    parts = first_holds([(fde.start, fde.end) for fde in placed])
    return IndexedTable(section.reader.section, parts, read, unplaced[0].why if unplaced else None)
