"""`.eh_frame` and `.debug_frame` as tables (DWARF 5, section 6.4; LSB 5.0 core, section 10.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from testbed.arch import Arch
from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import MalformedTable, NoUnwindInfo
from unwinders.formats.cfi_entries import Cie, cie_at, fde_at
from unwinders.formats.cfi_ranges import FdeRange, UnplacedFde, fde_ranges
from unwinders.formats.cfi_rows import InitialState, fde_rows, initial_state
from unwinders.formats.indexed import IndexedTable, Part, first_holds
from unwinders.formats.reader import Reader, reader_of


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
        if offset not in self.cies:
            try:
                self.cies[offset] = cie_at(self.reader, offset, self.arch.word)
            except MalformedTable as why:
                self.cies[offset] = why.again()
        found = self.cies[offset]
        if isinstance(found, MalformedTable):
            raise found.again()
        return found

    def rows_at(self, offset: int) -> Sequence[UnwindRow]:
        """The rows of the FDE at an offset. Raises MalformedTable where it, or its CIE, cannot be read."""
        if offset not in self.rows:
            fde = fde_at(self.reader, offset, self.arch.word, self.cie_at)
            self.rows[offset] = fde_rows(fde, self.reader, self.arch, self._state_of(fde.cie))
        return self.rows[offset]

    def _state_of(self, cie: Cie) -> InitialState:
        if cie.offset not in self.states:
            try:
                self.states[cie.offset] = initial_state(cie, self.reader, self.arch)
            except MalformedTable as why:
                self.states[cie.offset] = why.again()
        found = self.states[cie.offset]
        if isinstance(found, MalformedTable):
            raise found.again()
        return found


_SECTIONS: WeakKeyDictionary[Image, dict[str, CfiSection]] = WeakKeyDictionary()
_INDEXES: WeakKeyDictionary[Image, dict[str, IndexedTable]] = WeakKeyDictionary()


def cfi_section(image: Image, section: str) -> CfiSection:
    """A section of call frame information, to be read entry by entry. Raises NoUnwindInfo where there is none."""
    sections = _SECTIONS.setdefault(image, {})
    if section not in sections:
        found = image.sections.get(section)
        if found is None:
            raise NoUnwindInfo(f"{image} has no {section}")
        sections[section] = CfiSection(reader_of(image, found, section), image.arch)
    return sections[section]


def cfi_index(image: Image, section: str) -> IndexedTable:
    """Which FDE of a section each pc of an image has; an FDE is interpreted when it is asked for.

    Where FDEs overlap, the first one in the section holds, as for every consumer that searches the section
    linearly. What breaks the format in one FDE, or in the CIE of several, is theirs only. Raises NoUnwindInfo where
    the image has no such section, MalformedTable where the length of an entry is wrong: that hides all that follow.
    """
    indexes = _INDEXES.setdefault(image, {})
    if section not in indexes:
        indexes[section] = _index(cfi_section(image, section))
    return indexes[section]


def _index(section: CfiSection) -> IndexedTable:
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


def cfi_table(image: Image, section: str) -> RowTable:
    """All rows of a section of an image, sorted by pc, in link-time addresses. Raises as ``cfi_index`` does."""
    return cfi_index(image, section).all_rows()
