"""The rows (FREs) of one `.sframe` function entry.

Layout (The SFrame Format, version 3, section 2.4)::

    start      1, 2 or 4 bytes, as the function's type says: from the start of the function, or of each repeated block
    info       bit 0: CFA counts from SP (else FP); bits 1-4: number of words; bits 5-6: their size is 1 << it;
               bit 7: the return address is signed
    words      default functions, each signed:
                   CFA = SP or FP + first;  RA = *(CFA + next), if it has no fixed place;  FP = *(CFA + next)
               flexible ones (V3): the same three, each a control word and a signed offset, or one zero: no rule.
                   control: bit 0 a register, its number from bit 3 on (else: the CFA); bit 1 stored there

A row without words says that this is the outermost frame (V2, V3). FP without a rule still has the caller's value,
and so has RA where a link register exists. Nothing is said about any other register: the caller's are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from testbed.arch import Arch
from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    AtRegister,
    CfaPlus,
    Constant,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from unwinders.formats.reader import Reader
from unwinders.formats.sframe_entries import FunctionEntry, SframeHeader

MAX_ROWS = 1 << 18  # of one section, repeated blocks counted out: a linkage table of 2 MB has fewer
_LARGEST_MASK = 0xFF  # version 1's stubs are 16 bytes long
_WORD_SIZES = (1, 2, 4)
_FROM_SP, _SIGNED = 1, 1 << 7


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One FRE, its words interpreted. ``start`` counts from the function or from each repeated block."""

    offset: int
    start: int
    cfa: Rule | None  # None: the outermost frame
    registers: dict[str, Rule]


def function_rows(entry: FunctionEntry, reader: Reader, header: SframeHeader, arch: Arch) -> Iterator[UnwindRow]:
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


def read_rows(entry: FunctionEntry, reader: Reader, header: SframeHeader, arch: Arch) -> list[FrameRow]:
    """The FREs of a function as they stand. Their starts ascend, or it is a MalformedTable."""
    part = reader.part(entry.rows_at, header.rows_end)
    part.spend("steps", 8 * entry.rows)  # a row is some words, each with rules
    found: list[FrameRow] = []
    for _ in range(entry.rows):
        at = part.offset
        start = part.unsigned(entry.address_size)
        if found and start < found[-1].start:
            raise part.error(f"a row for +{start:#x}, after +{found[-1].start:#x}", at=at)
        info = part.unsigned(1)
        size_code, count = info >> 5 & 3, info >> 1 & 0xF
        if size_code >= len(_WORD_SIZES):
            raise part.error(f"words of size {size_code} do not exist", at=at)
        words = _FreWords(part.part(part.offset, part.offset + count * _WORD_SIZES[size_code]), _WORD_SIZES[size_code])
        part.take(count * words.size)
        if count == 0:
            if header.version == 1:
                raise part.error("a row without words: version 1 has none", at=at)
            found.append(FrameRow(at, start, None, {arch.return_address: Undefined()}))
            continue
        base = arch.sp if info & _FROM_SP else arch.frame_pointers[0]
        rules = _flexible(words, header, arch) if entry.is_flexible else _default(words, base, header, arch)
        if words.left:
            raise part.error(f"{words.left} words too many", at=at)
        cfa, named = rules
        registers: dict[str, Rule] = {name: Undefined() for name in arch.preserved}
        registers |= {arch.frame_pointers[0]: SameValue(), **named}
        if info & _SIGNED and arch.ra_sign_state is not None:
            registers[RA_SIGNED] = Constant(1)
        found.append(FrameRow(at, start, cfa, registers))
    return found


class _FreWords:
    """The words behind one FRE, taken one after the other."""

    def __init__(self, reader: Reader, size: int) -> None:
        self.reader, self.size = reader, size

    @property
    def left(self) -> int:
        return self.reader.left // self.size

    def signed(self) -> int:
        return self.reader.signed(self.size)

    def unsigned(self) -> int:
        return self.reader.unsigned(self.size)


def _default(words: _FreWords, base: str, header: SframeHeader, arch: Arch) -> tuple[Rule, dict[str, Rule]]:
    cfa = RegisterPlus(base, words.signed())
    registers: dict[str, Rule] = {}
    if header.fixed_ra:
        registers[arch.return_address] = AtCfa(header.fixed_ra)
    elif words.left:
        registers[arch.return_address] = AtCfa(words.signed())
    if header.fixed_fp:
        registers[arch.frame_pointers[0]] = AtCfa(header.fixed_fp)
    elif words.left:
        registers[arch.frame_pointers[0]] = AtCfa(words.signed())
    return cfa, registers


def _flexible(words: _FreWords, header: SframeHeader, arch: Arch) -> tuple[Rule, dict[str, Rule]]:
    at = words.reader.offset
    cfa = _controlled(words, arch)
    if not isinstance(cfa, RegisterPlus | AtRegister):
        raise words.reader.error("a CFA that counts from no register", at=at)
    registers: dict[str, Rule] = {}
    if header.fixed_ra:
        registers[arch.return_address] = AtCfa(header.fixed_ra)
    if header.fixed_fp:
        registers[arch.frame_pointers[0]] = AtCfa(header.fixed_fp)
    for name in (arch.return_address, arch.frame_pointers[0]):
        rule = _controlled(words, arch) if words.left else None
        if rule is not None:
            registers[name] = rule
    return cfa, registers


def _controlled(words: _FreWords, arch: Arch) -> Rule | None:
    at = words.reader.offset
    control = words.unsigned()
    if control == 0:
        return None
    offset = words.signed()
    stored, number = bool(control >> 1 & 1), control >> 3
    if not control & 1:
        return AtCfa(offset) if stored else CfaPlus(offset)
    if number not in arch.by_dwarf:
        raise words.reader.error(f"register {number} is not one of {arch}", at=at)
    register = arch.by_dwarf[number]
    return AtRegister(register, offset) if stored else RegisterPlus(register, offset)


def _spans(entry: FunctionEntry, found: list[FrameRow], reader: Reader) -> Iterator[tuple[int, int, FrameRow]]:
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


def _masked(found: list[FrameRow]) -> tuple[list[FrameRow], int]:
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
        FrameRow(row.offset, offset, row.cfa, row.registers)
        for change in changes
        for offset, row in change
        if row is not None
    ], period
