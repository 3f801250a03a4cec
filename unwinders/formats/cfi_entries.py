"""The entries of `.eh_frame` and `.debug_frame`: CIEs and FDEs, their instructions still bytes.

Layout (DWARF 5, section 6.4.1 and 7.24; LSB 5.0 core, section 10.6)::

    length             4 bytes, or ffffffff and 8 bytes
    CIE id / pointer   .eh_frame: 0 for a CIE, else the distance back from this field to the CIE
                       .debug_frame: ffffffff (64-bit: ffffffffffffffff) for a CIE, else the CIE's offset
    CIE: version, augmentation, [address size, segment size,] code alignment factor, data alignment factor,
         return-address register, [augmentation data,] initial instructions
    FDE: first pc, number of bytes, [augmentation data,] instructions

A length of zero ends `.eh_frame`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.words.errors import MalformedTable
from unwinders.formats.reader import ABSOLUTE, FORMAT, INDIRECT, OMIT, Reader

_VERSIONS = (1, 3, 4)
_DATALESS = "SBG"  # signal frame, key B, memory tagging: GNU as writes "S" into .debug_frame without a "z"


@dataclass(frozen=True, slots=True)
class Cie:
    """A common information entry. ``instructions`` is the ``(offset, end)`` of its bytes in the section."""

    offset: int
    code_factor: int
    data_factor: int
    return_register: int  # DWARF number
    pointer_encoding: int
    has_data: bool  # augmentation 'z': FDEs carry a length-prefixed augmentation area
    is_signal: bool
    instructions: tuple[int, int]
    why: MalformedTable | None = None  # no FDE of it can be read; where each begins and ends can


@dataclass(frozen=True, slots=True)
class Fde:
    """A frame description entry for the link-time pcs ``[start, end)``."""

    offset: int
    cie: Cie
    start: int
    end: int
    instructions: tuple[int, int]


def is_eh_frame(section: str) -> bool:
    """Which of the two sections a name is: `.eh_frame`, `__TEXT,__eh_frame` or `.debug_frame`."""
    return section.endswith("eh_frame")


def fde_at(reader: Reader, offset: int, word: int, cie_at: Callable[[int], Cie]) -> Fde:
    """The FDE at a section offset; ``cie_at`` gives the CIE it names. Raises MalformedTable where there is none."""
    entry, size = entry_at(reader, offset)
    named = cie_named(entry, offset, size) if entry.left else None
    if named is None:
        raise reader.error(f"an index names an FDE at {offset:#x}; there is none", at=offset)
    cie = cie_at(named)
    if cie.why is not None:
        raise cie.why.again()
    place = fde_place(entry, offset, cie, word)
    end = checked_end(entry, offset, place, word)
    if cie.has_data:
        entry.take(entry.uleb())
    return Fde(offset, cie, place[0], end, (entry.offset, entry.end))


def cie_named(entry: Reader, offset: int, size: int) -> int | None:
    """The section offset of the CIE that an FDE names; None where the entry is a CIE itself."""
    is_eh, at = is_eh_frame(entry.section), entry.offset
    pointer = entry.unsigned(4 if is_eh else size)
    if pointer == cie_mark(is_eh, size):
        return None
    named = at - pointer if is_eh else pointer
    if not 0 <= named <= len(entry.data) - 8:
        raise entry.error(f"an FDE names a CIE at {named:#x}, outside the section", at=offset)
    return named


def cie_at(reader: Reader, offset: int, word: int) -> Cie:
    """The CIE at a section offset that an FDE names. Raises MalformedTable where nothing of it can be used."""
    entry, size = entry_at(reader, offset)
    if cie_named(entry, offset, size) is not None:
        raise reader.error(f"an FDE names a CIE at {offset:#x}; there is none", at=offset)
    return _cie(entry, offset, word)


def entry_at(reader: Reader, offset: int) -> tuple[Reader, int]:
    """What stands behind the length of the entry at an offset, and how wide its CIE id is in `.debug_frame`."""
    head = reader.part(offset, len(reader.data))
    length, size = head.unsigned(4), 4
    if length == 0xFFFF_FFFF:
        length, size = head.unsigned(8), 8
    if length > head.left:
        raise reader.error(f"an entry of {length} bytes reaches past the end of the section", at=offset)
    return head.part(head.offset, head.offset + length), size


def cie_mark(is_eh: bool, size: int) -> int:
    """What stands in a CIE where an FDE names its CIE."""
    return 0 if is_eh else (1 << (8 * size)) - 1


def _cie(entry: Reader, offset: int, word: int) -> Cie:
    version = entry.unsigned(1)
    if version not in _VERSIONS:
        raise entry.error(f"CIE version {version} is none of {_VERSIONS}", at=offset)
    augmentation = entry.string()
    has_data = augmentation.startswith("z")
    if not has_data and set(augmentation) - set(_DATALESS):
        # Of such a CIE's FDEs "initial_location" and "address_range" can be read, no more (DWARF 5, section 6.4.1).
        why = entry.error(f"CIE augmentation {augmentation!r} cannot be skipped", at=offset)
        return Cie(offset, 1, 1, 0, ABSOLUTE, False, False, (entry.end, entry.end), why)
    if version == 4:
        size, segment = entry.unsigned(1), entry.unsigned(1)
        if size != word or segment != 0:
            raise entry.error(f"a CIE for {size}-byte addresses and {segment}-byte segments", at=offset)
    code_factor, data_factor = entry.uleb(), entry.sleb()
    return_register = entry.unsigned(1) if version == 1 else entry.uleb()
    encoding = ABSOLUTE
    end = entry.end
    if has_data:
        length, start = entry.uleb(), entry.offset
        entry.take(length)
        area = entry.part(start, entry.offset)
        for i, letter in enumerate(augmentation[1:], 1):
            if letter == "R":
                encoding = area.unsigned(1)
            elif letter == "L":
                area.unsigned(1)
            elif letter == "P":
                kind = area.unsigned(1)
                if kind != OMIT:
                    area.pointer(kind & FORMAT, word)  # its value is not wanted, whatever it is relative to
            elif letter not in _DATALESS:
                # What belongs to it is not known. The rest need not be read, but for where FDEs say their pcs.
                if "R" in augmentation[i:]:
                    raise entry.error(f"CIE augmentation {augmentation!r}: {letter!r} hides what follows", at=offset)
                break
    return Cie(
        offset,
        code_factor,
        data_factor,
        return_register,
        encoding,
        has_data,
        "S" in augmentation,
        (entry.offset, end),
    )


def fde_place(entry: Reader, offset: int, cie: Cie, word: int) -> tuple[int, int]:
    """The first pc of an FDE and how many bytes it is for; ``entry`` stands behind the CIE pointer."""
    if cie.pointer_encoding == OMIT or cie.pointer_encoding & INDIRECT:
        raise entry.error(f"an FDE's first pc has the pointer encoding {cie.pointer_encoding:#x}", at=offset)
    start = entry.pointer(cie.pointer_encoding, word)
    size = entry.pointer(cie.pointer_encoding & FORMAT, word)
    if start is None or size is None:
        raise MalformedTable(entry.section, offset, "an FDE without a range")
    return start, size


def checked_end(entry: Reader, offset: int, place: tuple[int, int], word: int) -> int:
    """Where an FDE's pcs end. Raises MalformedTable where that is outside the address space."""
    start, size = place
    if start + size > 1 << (8 * word):
        raise entry.error(f"an FDE of {size:#x} bytes at {start:#x} leaves the address space", at=offset)
    return start + size
