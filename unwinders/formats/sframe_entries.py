"""The header and the function entries of `.sframe`, versions 1 to 3; rows are read elsewhere.

Layout (The SFrame Format, version 3, sections 2.1 to 2.3; offsets in bytes, all values in the target's order)::

    header    magic dee2 (2), version (1), flags (1), ABI (1), fixed FP offset (1), fixed RA offset (1),
              size of the auxiliary header (1), number of FDEs (4), of FREs (4), bytes of FREs (4),
              offset of the FDEs (4), of the FREs (4): both from the end of the header, the auxiliary one included
    FDE, V1   start (4), size (4), offset of its FREs (4), number of FREs (4), info (1)
    FDE, V2   the same, size of the repeated block (1), two bytes of padding
    FDE, V3   start (8), size (4), offset (4) of: number of FREs (2), info (1), info 2 (1), size of the repeated
              block (1), and then the FREs
    info      FRE type in bits 0-3, PC type in bit 4, the key that signs return addresses in bit 5, V3: signal in bit 7

A start is a distance: from its own place with flag 4, from the start of the section without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.arch import Arch, PerArch
from testbed.words.errors import MalformedTable, UnsupportedRule
from unwinders.formats.indexed import out_of_order
from unwinders.formats.reader import Reader

MAGIC, SWAPPED = 0xDEE2, 0xE2DE
SORTED, FRAME_POINTER, PC_RELATIVE = 1, 2, 4
_FLAGS = {1: SORTED | FRAME_POINTER, 2: SORTED | FRAME_POINTER | PC_RELATIVE, 3: SORTED | FRAME_POINTER | PC_RELATIVE}
_ENTRY = {1: 17, 2: 20, 3: 16}  # bytes of one FDE
ADDRESS_SIZES = (1, 2, 4)  # bytes of a row's start, by FRE type
# AMD64 and AARCH64, both little-endian.
_ABIS = PerArch[int | None](
    {"x86_64": 3, "arm64": 2, "arm32": None}, because={"arm32": "the format knows no 32-bit ABI of Arm"}
)
_SMALLEST_ROW = 2  # one byte of start, one of info
_KEY_B, _MASK, _SIGNAL = 1 << 5, 1 << 4, 1 << 7
DEFAULT, FLEXIBLE = 0, 1


@dataclass(frozen=True, slots=True)
class SframeHeader:
    """What holds for the whole section; the offsets are from its start. A fixed offset of 0 is none."""

    version: int
    flags: int
    fixed_fp: int
    fixed_ra: int
    functions: int  # how many
    rows: int  # how many, of all functions together
    functions_at: int
    rows_at: int
    rows_end: int

    @property
    def is_sorted(self) -> bool:
        return bool(self.flags & SORTED)


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """An FDE for the link-time pcs ``[start, end)``. Its ``rows`` FREs start at the section offset ``rows_at``.

    ``block`` 0: a row's start counts from the function's. Otherwise the code is a pattern of so many bytes that
    repeats, and a row's start counts from each repetition's; None: it repeats, and version 1 does not say how long
    the pattern is.
    """

    offset: int
    start: int
    end: int
    rows: int = 0
    rows_at: int = 0
    address_size: int = 1
    block: int | None = 0
    key: str = "A"  # which key signs return addresses, where they are signed
    is_flexible: bool = False
    is_signal: bool = False
    why: MalformedTable | None = None  # it has rows that cannot be read


def read_header(reader: Reader, arch: Arch) -> SframeHeader:
    """The header of the section that ``reader`` is at the start of, for programs of an architecture.

    Raises MalformedTable where the bytes break the format or are for another architecture, UnsupportedRule for a
    version that is not known here.
    """
    magic = reader.unsigned(2)
    if magic == SWAPPED:
        raise reader.error("the section is big-endian, and the program is not", at=0)
    if magic != MAGIC:
        raise reader.error(f"the magic number is {magic:#06x}, not {MAGIC:#06x}", at=0)
    version, flags = reader.unsigned(1), reader.unsigned(1)
    if version not in _FLAGS:
        raise UnsupportedRule(f"{reader.section}: version {version} is none of {tuple(_FLAGS)}")
    if flags & ~_FLAGS[version]:
        raise reader.error(f"the flags {flags:#x} are not all those of version {version}", at=3)
    abi = reader.unsigned(1)
    if abi != _ABIS[arch.name]:
        raise reader.error(f"the section is for ABI {abi}; this is {arch}, ABI {_ABIS[arch.name]}", at=4)
    fixed_fp, fixed_ra, auxiliary = reader.signed(1), reader.signed(1), reader.unsigned(1)
    functions, rows, size, functions_at, rows_at = (reader.unsigned(4) for _ in range(5))
    reader.take(auxiliary)
    end = reader.offset
    header = SframeHeader(
        version, flags, fixed_fp, fixed_ra, functions, rows, end + functions_at, end + rows_at, end + rows_at + size
    )
    if header.rows_end > reader.end:
        raise reader.error(f"{size} bytes of rows at {header.rows_at:#x} reach past the end of the section", at=0x18)
    if rows * _SMALLEST_ROW > size:
        raise reader.error(f"{rows} rows do not fit {size} bytes", at=0xC)
    if header.functions_at + functions * _ENTRY[version] > reader.end:
        raise reader.error(f"{functions} functions at {header.functions_at:#x} reach past the end of it", at=0x14)
    return header


def read_functions(
    reader: Reader, header: SframeHeader, arch: Arch
) -> tuple[tuple[FunctionEntry, ...], MalformedTable | None]:
    """Every function entry that says its pcs, in the section's order; and what is wrong with the first that does not.

    In a table that calls itself sorted, an entry out of order is one of those: a search is led past it.
    """
    found: list[FunctionEntry] = []
    unplaced: MalformedTable | None = None
    rows = 0
    for i in range(header.functions):
        at = header.functions_at + i * _ENTRY[header.version]
        try:
            entry = _function(reader.part(at, at + _ENTRY[header.version]), reader, header, arch)
        except MalformedTable as why:
            unplaced = unplaced or why.again()
            continue
        if entry.why is None and rows + entry.rows > header.rows:
            more = reader.error(f"the header counts {header.rows} rows; the functions have more", at=at)
            entry = replace(entry, why=more)
        rows += 0 if entry.why else entry.rows
        found.append(entry)
    if header.is_sorted and (wild := out_of_order([entry.start for entry in found])):
        first = found[min(wild)]
        unplaced = unplaced or reader.error(f"an entry for {first.start:#x}: not sorted", at=first.offset)
        found = [entry for i, entry in enumerate(found) if i not in wild]
    return tuple(found), unplaced


def _function(entry: Reader, section: Reader, header: SframeHeader, arch: Arch) -> FunctionEntry:
    """An entry. Raises MalformedTable where not even its pcs can be read; other mistakes stand in it."""
    at = entry.offset
    distance, size = entry.signed(8 if header.version == 3 else 4), entry.unsigned(4)
    start = section.address + (at if header.flags & PC_RELATIVE else 0) + distance & arch.word_mask
    if start + size > 1 << (8 * arch.word):
        raise entry.error(f"a function of {size:#x} bytes at {start:#x} leaves the address space", at=at)
    try:
        return _with_rows(entry, section, header, FunctionEntry(at, start, start + size))
    except MalformedTable as why:
        return FunctionEntry(at, start, start + size, why=why.again())


def _with_rows(entry: Reader, section: Reader, header: SframeHeader, placed: FunctionEntry) -> FunctionEntry:
    """What an entry says behind its pcs."""
    at, version = placed.offset, header.version
    rows_from = entry.unsigned(4)
    flexible = False
    if version == 3:
        attributes = section.part(header.rows_at, header.rows_end)
        attributes.take(rows_from)
        rows, info, kind = attributes.unsigned(2), attributes.unsigned(1), attributes.unsigned(1)
        block: int | None = attributes.unsigned(1)
        rows_from += 5
        if kind & 0x1F not in (DEFAULT, FLEXIBLE):
            raise entry.error(f"functions of type {kind & 0x1F} are reserved", at=at)
        flexible = kind & 0x1F == FLEXIBLE
    else:
        rows, info = entry.unsigned(4), entry.unsigned(1)
        block = entry.unsigned(1) if version == 2 else None
    if info & 0xF >= len(ADDRESS_SIZES):
        raise entry.error(f"rows of type {info & 0xF} do not exist", at=at)
    if header.rows_at + rows_from > header.rows_end:
        raise entry.error(f"its rows are said to start at {rows_from:#x}, past the end of all rows", at=at)
    if info & _MASK and block == 0:
        raise entry.error("its code repeats in blocks of no bytes", at=at)
    return replace(
        placed,
        rows=rows,
        rows_at=header.rows_at + rows_from,
        address_size=ADDRESS_SIZES[info & 0xF],
        block=block if info & _MASK else 0,
        key="B" if info & _KEY_B else "A",
        is_flexible=flexible,
        is_signal=version == 3 and bool(info & _SIGNAL),
    )
