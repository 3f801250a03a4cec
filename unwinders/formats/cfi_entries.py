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

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.words.errors import MalformedTable
from unwinders.formats.reader import ABSOLUTE, INDIRECT, OMIT, Reader

MAX_ENTRIES = 1_000_000
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


@dataclass(frozen=True, slots=True)
class Fde:
    """A frame description entry for the link-time pcs ``[start, end)``."""

    offset: int
    cie: Cie
    start: int
    end: int
    instructions: tuple[int, int]


def read_fdes(section: str, address: int, data: bytes, word: int) -> Iterator[Fde]:
    """Every FDE of a section, in file order. Raises MalformedTable where the bytes break the format.

    An FDE whose first pc is 0 describes code that the linker removed: it is left out. Nothing runs at address 0.
    """
    is_eh = section.endswith("eh_frame")  # .eh_frame, __TEXT,__eh_frame
    reader = Reader(section, address, data)
    cies: dict[int, Cie] = {}
    for _ in range(MAX_ENTRIES):
        if not reader.left:
            return
        offset = reader.offset
        length, size = reader.unsigned(4), 4
        if length == 0xFFFF_FFFF:
            length, size = reader.unsigned(8), 8
        if length == 0:
            if is_eh:
                return
            continue
        if length > reader.left:
            raise reader.error(f"an entry of {length} bytes reaches past the end of the section", at=offset)
        entry = reader.part(reader.offset, reader.offset + length)
        reader.offset += length
        at = entry.offset
        pointer = entry.unsigned(4 if is_eh else size)
        if pointer == (0 if is_eh else (1 << (8 * size)) - 1):
            cies[offset] = _cie(entry, offset, word)
            continue
        cie_offset = at - pointer if is_eh else pointer
        if cie_offset not in cies:
            cies[cie_offset] = _cie_at(reader, cie_offset, is_eh, word)
        fde = _fde(entry, offset, cies[cie_offset], word)
        if fde.start:
            yield fde
    raise reader.error(f"more than {MAX_ENTRIES} entries")


def fde_at(reader: Reader, offset: int, word: int) -> Fde:
    """The FDE of `.eh_frame` at a section offset that an index names. Raises MalformedTable where there is none."""
    head = reader.part(offset, len(reader.data))
    length = head.unsigned(4)
    if length == 0xFFFF_FFFF:
        length = head.unsigned(8)
    entry = head.part(head.offset, head.offset + length)
    at = entry.offset
    pointer = entry.unsigned(4) if length else 0
    if not pointer:
        raise reader.error(f"an index names an FDE at {offset:#x}; there is none", at=offset)
    return _fde(entry, offset, _cie_at(reader, at - pointer, True, word), word)


def _cie_at(reader: Reader, offset: int, is_eh: bool, word: int) -> Cie:
    """A CIE that stands behind the FDE that names it."""
    if not 0 <= offset <= len(reader.data) - 8:
        raise reader.error(f"an FDE names a CIE at {offset:#x}, outside the section")
    head = reader.part(offset, len(reader.data))
    length, size = head.unsigned(4), 4
    if length == 0xFFFF_FFFF:
        length, size = head.unsigned(8), 8
    entry = head.part(head.offset, head.offset + length)
    if entry.unsigned(4 if is_eh else size) != (0 if is_eh else (1 << (8 * size)) - 1):
        raise reader.error(f"an FDE names a CIE at {offset:#x}; there is none", at=offset)
    return _cie(entry, offset, word)


def _cie(entry: Reader, offset: int, word: int) -> Cie:
    version = entry.unsigned(1)
    if version not in _VERSIONS:
        raise entry.error(f"CIE version {version} is none of {_VERSIONS}", at=offset)
    augmentation = entry.string()
    if version == 4:
        size, segment = entry.unsigned(1), entry.unsigned(1)
        if size != word or segment != 0:
            raise entry.error(f"a CIE for {size}-byte addresses and {segment}-byte segments", at=offset)
    code_factor, data_factor = entry.uleb(), entry.sleb()
    return_register = entry.unsigned(1) if version == 1 else entry.uleb()
    encoding = ABSOLUTE
    has_data = augmentation.startswith("z")
    end = entry.end
    if has_data:
        length, start = entry.uleb(), entry.offset
        entry.take(length)
        area = entry.part(start, entry.offset)
        for letter in augmentation[1:]:
            if letter == "R":
                encoding = area.unsigned(1)
            elif letter == "L":
                area.unsigned(1)
            elif letter == "P":
                kind = area.unsigned(1)
                area.pointer(kind & ~INDIRECT, word)
            elif letter not in _DATALESS:
                break  # an unknown letter: the rest of the area cannot be read, and need not be
    elif set(augmentation) - set(_DATALESS):
        raise entry.error(f"CIE augmentation {augmentation!r} cannot be skipped", at=offset)
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


def _fde(entry: Reader, offset: int, cie: Cie, word: int) -> Fde:
    if cie.pointer_encoding == OMIT or cie.pointer_encoding & INDIRECT:
        raise entry.error(f"an FDE's first pc has the pointer encoding {cie.pointer_encoding:#x}", at=offset)
    start = entry.pointer(cie.pointer_encoding, word)
    size = entry.pointer(cie.pointer_encoding & 0x0F, word)
    if start is None or size is None:
        raise MalformedTable(entry.section, offset, "an FDE without a range")
    if start + size > 1 << (8 * word):
        raise entry.error(f"an FDE of {size:#x} bytes at {start:#x} leaves the address space", at=offset)
    if cie.has_data:
        entry.take(entry.uleb())
    return Fde(offset, cie, start, start + size, (entry.offset, entry.end))
