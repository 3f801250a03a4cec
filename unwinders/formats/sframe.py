"""`.sframe` as a row table: what profilers and the kernel unwind by, without a DWARF interpreter.

Source: The SFrame Format, versions 1, 2 (with its errata on where a start counts from) and 3; binutils documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from testbed.arch import Arch, PerArch
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValOffset,
)
from testbed.conventions import platform
from testbed.image import Image, once_per_image
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from unwinders.formats.indexed import IndexedTable, Part, first_holds, out_of_order
from unwinders.formats.reader import Reader, reader_of
from unwinders.formats.sections import SFRAME

# The header and the function entries of `.sframe`, versions 1 to 3.
#
# Layout (The SFrame Format, version 3, sections 2.1 to 2.3; offsets in bytes, all values in the target's order)::
#
#   header    magic dee2 (2), version (1), flags (1), ABI (1), fixed FP offset (1), fixed RA offset (1),
#             size of the auxiliary header (1), number of FDEs (4), of FREs (4), bytes of FREs (4),
#             offset of the FDEs (4), of the FREs (4): both from the end of the header, the auxiliary one included
#   FDE, V1   start (4), size (4), offset of its FREs (4), number of FREs (4), info (1)
#   FDE, V2   the same, size of the repeated block (1), two bytes of padding
#   FDE, V3   start (8), size (4), offset (4) of: number of FREs (2), info (1), info 2 (1), size of the repeated
#             block (1), and then the FREs
#   info      FRE type in bits 0-3, PC type in bit 4, the key that signs return addresses in bit 5, V3: signal in bit 7
#
# A start is a distance: from its own place with flag 4, from the start of the section without it.

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
class FunctionDescriptor:
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
) -> tuple[tuple[FunctionDescriptor, ...], MalformedTable | None]:
    """Every function entry that says its pcs, in the section's order; and what is wrong with the first that does not.

    In a table that calls itself sorted, an entry out of order is one of those: a search is led past it.
    """
    found: list[FunctionDescriptor] = []
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


def _function(entry: Reader, section: Reader, header: SframeHeader, arch: Arch) -> FunctionDescriptor:
    """An entry. Raises MalformedTable where not even its pcs can be read; other mistakes stand in it."""
    at = entry.offset
    distance, size = entry.signed(8 if header.version == 3 else 4), entry.unsigned(4)
    start = section.address + (at if header.flags & PC_RELATIVE else 0) + distance & arch.word_mask
    if start + size > 1 << (8 * arch.word):
        raise entry.error(f"a function of {size:#x} bytes at {start:#x} leaves the address space", at=at)
    try:
        return _with_rows(entry, section, header, FunctionDescriptor(at, start, start + size))
    except MalformedTable as why:
        return FunctionDescriptor(at, start, start + size, why=why.again())


def _with_rows(entry: Reader, section: Reader, header: SframeHeader, placed: FunctionDescriptor) -> FunctionDescriptor:
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


# The rows (FREs) of one `.sframe` function entry.
#
# Layout (The SFrame Format, version 3, section 2.4)::
#
#     start      1, 2 or 4 bytes, as the function's type says: from the start of the function, or of each repeated block
#     info       bit 0: CFA counts from SP (else FP); bits 1-4: number of words; bits 5-6: their size is 1 << it;
#                bit 7: the return address is signed
#     words      default functions, each signed:
#                    CFA = SP or FP + first;  RA = *(CFA + next), if it has no fixed place;  FP = *(CFA + next)
#                flexible ones (V3): the same three, each a control word and a signed offset, or one zero: no rule.
#                    control: bit 0 a register, its number from bit 3 on (else: the CFA); bit 1 stored there
#
# A row without words says that this is the outermost frame (V2, V3). FP without a rule still has the caller's value,
# and so has RA where a link register exists. Nothing is said about any other register: the caller's are unknown.

MAX_ROWS = 1 << 18  # of one section, repeated blocks counted out: a linkage table of 2 MB has fewer
_LARGEST_MASK = 0xFF  # version 1's stubs are 16 bytes long
_WORD_SIZES = (1, 2, 4)
_FROM_SP, _SIGNED = 1, 1 << 7


@dataclass(frozen=True, slots=True)
class FrameRowEntry:
    """One FRE, its words interpreted. ``start`` counts from the function or from each repeated block."""

    offset: int
    start: int
    cfa: Rule | None  # None: the outermost frame
    registers: dict[str, Rule]


def function_rows(entry: FunctionDescriptor, reader: Reader, header: SframeHeader, arch: Arch) -> Iterator[UnwindRow]:
    """The rows of a function, in ascending order, in link-time addresses.

    Raises MalformedTable where the bytes break the format, or where repeated blocks make more than MAX_ROWS.
    """
    found = read_rows(entry, reader, header, arch)
    for start, end, row in _spans(entry, found, reader):
        reader.spend("entries")
        yield UnwindRow(
            start=start,
            end=end,
            cfa=row.cfa,
            registers=row.registers,
            return_address=arch.return_address,
            signal_frame=entry.is_signal,
            found_by=f"{reader.section}+{row.offset:#x}",
        )


def read_rows(entry: FunctionDescriptor, reader: Reader, header: SframeHeader, arch: Arch) -> list[FrameRowEntry]:
    """The FREs of a function as they stand. Their starts ascend, or it is a MalformedTable."""
    part = reader.part(entry.rows_at, header.rows_end)
    part.spend("steps", 8 * entry.rows)  # a row is some words, each with rules
    found: list[FrameRowEntry] = []
    for _ in range(entry.rows):
        at = part.offset
        start = part.unsigned(entry.address_size)
        if found and start < found[-1].start:
            raise part.error(f"a row for +{start:#x}, after +{found[-1].start:#x}", at=at)
        info = part.unsigned(1)
        size_code, count = info >> 5 & 3, info >> 1 & 0xF
        if size_code >= len(_WORD_SIZES):
            raise part.error(f"words of size {size_code} do not exist", at=at)
        size = _WORD_SIZES[size_code]
        words = part.part(part.offset, part.offset + count * size)
        part.take(count * size)
        if count == 0:
            if header.version == 1:
                raise part.error("a row without words: version 1 has none", at=at)
            found.append(FrameRowEntry(at, start, None, {arch.return_address: Undefined()}))
            continue
        base = arch.sp if info & _FROM_SP else arch.frame_pointers[0]
        cfa = _controlled(words, size, arch) if entry.is_flexible else RegisterPlus(base, words.signed(size))
        if not isinstance(cfa, RegisterPlus | AtRegister):
            raise part.error("a CFA that counts from no register", at=at + entry.address_size + 1)
        registers: dict[str, Rule] = {name: Undefined() for name in platform(arch).preserved}
        registers[arch.frame_pointers[0]] = SameValue()
        for name, fixed in ((arch.return_address, header.fixed_ra), (arch.frame_pointers[0], header.fixed_fp)):
            rule: Rule | None = Offset(fixed) if fixed else None
            if words.left and entry.is_flexible:
                rule = _controlled(words, size, arch) or rule
            elif words.left and rule is None:
                rule = Offset(words.signed(size))
            if rule is not None:
                registers[name] = rule
        if words.left:
            raise part.error(f"{words.left // size} words too many", at=at)
        if info & _SIGNED and arch.ra_sign_state is not None:
            registers[RA_SIGNED] = Constant(1)
        found.append(FrameRowEntry(at, start, cfa, registers))
    return found


def _controlled(words: Reader, size: int, arch: Arch) -> Rule | None:
    """The rule of a control word and its offset; None for a zero."""
    at = words.offset
    control = words.unsigned(size)
    if control == 0:
        return None
    offset = words.signed(size)
    stored, number = bool(control >> 1 & 1), control >> 3
    if not control & 1:
        return Offset(offset) if stored else ValOffset(offset)
    if number not in arch.by_dwarf:
        raise words.error(f"register {number} is not one of {arch}", at=at)
    register = arch.by_dwarf[number]
    return AtRegister(register, offset) if stored else RegisterPlus(register, offset)


def _spans(
    entry: FunctionDescriptor, found: list[FrameRowEntry], reader: Reader
) -> Iterator[tuple[int, int, FrameRowEntry]]:
    """The pcs that each row is in force for: up to the next row's start, within the function."""
    pattern, period = found, entry.end - entry.start
    if entry.block:
        period = entry.block
    elif entry.block is None:
        if found and found[-1].start > _LARGEST_MASK:
            raise reader.error(f"a mask of {found[-1].start:#x}, past {_LARGEST_MASK:#x}", at=found[-1].offset)
        pattern, period = _masked(found)
    if not pattern or not period:
        return
    if (entry.end - entry.start) // period * len(pattern) > MAX_ROWS:
        raise reader.error(f"repeated blocks make more than {MAX_ROWS} rows", at=entry.offset)
    ends = [*(row.start for row in pattern[1:]), period]
    for block in range(entry.start, entry.end, period):
        for row, end in zip(pattern, ends, strict=True):
            start, stop = block + row.start, min(block + min(end, period), entry.end)
            if start < stop:
                yield start, stop, row


def _masked(found: list[FrameRowEntry]) -> tuple[list[FrameRowEntry], int]:
    """Version 1: a row is in force where ``offset & start >= start``; the last such one counts.

    That repeats with the smallest power of two that no start reaches.
    """
    period = 1 << max((row.start for row in found), default=0).bit_length()
    chosen = [
        (offset, next((row for row in reversed(found) if offset & row.start >= row.start), None))
        for offset in range(period)
    ]
    changes = [chosen[:1], *([right] for left, right in pairwise(chosen) if left[1] is not right[1])]
    return [
        FrameRowEntry(row.offset, offset, row.cfa, row.registers)
        for change in changes
        for offset, row in change
        if row is not None
    ], period


SECTION = SFRAME


@once_per_image
def sframe_index(image: Image) -> IndexedTable:
    """Which function entry of `.sframe` each pc of an image has; its rows are read when they are asked for.

    In a table that calls itself sorted a search by halves is meant: of two functions that overlap, the one that
    starts later has the pcs from there on, and entries out of order are not found. In any other the first one in the
    section holds. Bytes behind the rows are not looked at: a linker that only joins sections leaves a second table
    there, which nobody finds. What breaks the format in one function's entry or rows is that function's only. Raises
    NoUnwindInfo where the image has no such section, MalformedTable where its header breaks the format,
    UnsupportedRule for an unknown version.
    """
    section, arch = image.sections.get(SECTION), image.arch
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    reader = reader_of(image, section, SECTION)
    header = read_header(reader, arch)
    functions, unplaced = read_functions(reader, header, arch)

    def rows(part: Part) -> Sequence[UnwindRow]:
        entry = functions[part.entry]
        if entry.why is not None:
            raise entry.why.again()
        return tuple(function_rows(entry, reader, header, arch))

    if header.is_sorted:
        cuts = [*(entry.start for entry in functions[1:]), 1 << (8 * arch.word)]
        ends = [min(entry.end, cut) for entry, cut in zip(functions, cuts, strict=False)]
        ranges = [(entry.start, end) for entry, end in zip(functions, ends, strict=True)]
    else:
        ranges = [(entry.start, entry.end) for entry in functions]
    return IndexedTable(SECTION, first_holds(ranges), rows, unplaced, MAX_ROWS)
