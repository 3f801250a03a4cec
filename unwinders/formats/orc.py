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

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from struct import iter_unpack, unpack_from
from typing import NamedTuple

from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
)
from testbed.image import Image, once_per_image
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from unwinders.formats.indexed import IndexedTable, Part
from unwinders.formats.reader import reader_of
from unwinders.formats.sections import ORC_ENTRIES, ORC_HEADER, ORC_PLACES

# One ORC entry as a row: what arch/x86/kernel/unwind_orc.c of Linux does with it, as rules.
#
# With ``p`` what the entry says about the previous SP (register + offset, or what is stored there)::
#
#     call              CFA = p, the return address at CFA - 8
#     registers         p is the address of a struct pt_regs with every register of the interrupted code
#     interrupt frame   p is the address of its last five words: pc, cs, flags, SP, ss
#
# BP stays what it is, or is stored at an offset from p or from BP. Nothing is said about any other register.

_WORD = 8
_PRESERVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
# struct pt_regs: where the interrupted code's registers are.
_STORED = {"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbp": 32, "rbx": 40}
_STORED_PC, _STORED_SP = 128, 152
_FRAME_SP = _STORED_SP - _STORED_PC
_DEREF, _CONSTS, _PLUS, _BREG = 0x06, 0x11, 0x22, 0x70
_BREG_BP, _BREG_SP = _BREG + 6, _BREG + 7


class OrcRegister(IntEnum):
    """ORC_REG_*."""

    NONE = 0
    PREVIOUS_SP = 1
    DX = 2
    DI = 3
    BP = 4
    SP = 5
    R10 = 6
    R13 = 7
    BP_INDIRECT = 8
    SP_INDIRECT = 9


_NAMES = {
    OrcRegister.DX: "rdx",
    OrcRegister.DI: "rdi",
    OrcRegister.BP: "rbp",
    OrcRegister.SP: "rsp",
    OrcRegister.R10: "r10",
    OrcRegister.R13: "r13",
}
_WITHOUT_OFFSET = (
    OrcRegister.DX,
    OrcRegister.DI,
    OrcRegister.R10,
    OrcRegister.R13,
)  # the kernel takes these as they are


class OrcType(Enum):
    """What an entry is about, whatever its layout calls it."""

    NOTHING = "nothing is known about this code"
    END = "the outermost frame"
    CALL = "a function"
    REGISTERS = "code that was entered with all registers stored"
    INTERRUPT = "code that was entered with an interrupt frame only"


class OrcLayout(Enum):
    """What the bits from 8 on mean; the value says which kernels."""

    UP_TO_6_2 = "up to Linux 6.2"
    SINCE_6_4 = "from Linux 6.4 on"


_KIND_BITS = {OrcLayout.UP_TO_6_2: 2, OrcLayout.SINCE_6_4: 3}
_KINDS = {
    OrcLayout.UP_TO_6_2: {0: OrcType.CALL, 1: OrcType.REGISTERS, 2: OrcType.INTERRUPT},
    OrcLayout.SINCE_6_4: {
        0: OrcType.NOTHING,
        1: OrcType.END,
        2: OrcType.CALL,
        3: OrcType.REGISTERS,
        4: OrcType.INTERRUPT,
    },
}


@dataclass(frozen=True, slots=True)
class OrcEntry:
    """An entry, for the code from the link-time pc ``start`` on; ``offset`` is its place in `.orc_unwind`."""

    offset: int
    start: int
    sp_offset: int
    bp_offset: int
    bits: int

    @property
    def sp_register(self) -> int:
        return self.bits & 0xF

    def kind(self, layout: OrcLayout) -> OrcType | None:
        """What it is about, None where the layout has no such type."""
        kind = _KINDS[layout].get(self.bits >> 8 & (1 << _KIND_BITS[layout]) - 1)
        if layout is OrcLayout.UP_TO_6_2 and kind is not None and self.sp_register == OrcRegister.NONE:
            return OrcType.END if self.bits >> 10 & 1 else OrcType.NOTHING
        return kind


def entry_row(entry: OrcEntry, layout: OrcLayout, end: int) -> UnwindRow | None:
    """The row of an entry up to ``end``; None where it says that nothing is known.

    Raises MalformedTable where the layout has no such entry, or it counts from something that it cannot count from.
    """
    kind, signal = entry.kind(layout), entry.bits >> 11 & 1 == 1
    if kind is None or entry.bits >> 9 + _KIND_BITS[layout]:
        raise MalformedTable(ENTRIES, entry.offset, f"{entry.bits:#06x} is no entry of the layout {layout.value}")
    try:
        sp, bp = OrcRegister(entry.sp_register), OrcRegister(entry.bits >> 4 & 0xF)
    except ValueError as error:
        raise MalformedTable(ENTRIES, entry.offset, f"{entry.bits:#06x}: {error}") from error
    if kind is OrcType.NOTHING:
        return None
    found_by = f"{ENTRIES}+{entry.offset:#x}"
    rules: dict[str, Rule]
    if kind is OrcType.END:
        return UnwindRow(entry.start, end, None, {"rip": Undefined()}, "rip", found_by=found_by)
    if sp in (OrcRegister.NONE, OrcRegister.PREVIOUS_SP):
        raise MalformedTable(ENTRIES, entry.offset, f"the previous SP counts from {sp.name}")
    rules = {name: Undefined() for name in _PRESERVED}
    place = _PreviousSp(sp, 0 if sp in _WITHOUT_OFFSET else entry.sp_offset)
    if kind is OrcType.CALL:
        cfa = place.plus(0)
        rules["rip"] = Offset(-_WORD)
    elif kind is OrcType.REGISTERS:
        cfa = place.stored(_STORED_SP)
        rules |= {name: place.stored(at) for name, at in _STORED.items()}
        rules["rip"] = place.stored(_STORED_PC)
    else:
        cfa = place.stored(_FRAME_SP)
        rules["rip"] = place.stored(0)
    match bp:
        case OrcRegister.NONE:
            if kind is not OrcType.REGISTERS:
                rules["rbp"] = SameValue()
        case OrcRegister.PREVIOUS_SP:
            rules["rbp"] = Offset(entry.bp_offset) if kind is OrcType.CALL else place.stored(entry.bp_offset)
        case OrcRegister.BP:
            rules["rbp"] = AtRegister("rbp", entry.bp_offset)
        case _:
            raise MalformedTable(ENTRIES, entry.offset, f"BP's place counts from {bp.name}")
    if layout is OrcLayout.UP_TO_6_2:
        signal = kind is not OrcType.CALL
    return UnwindRow(entry.start, end, cfa, rules, "rip", signal, found_by)


class _PreviousSp(NamedTuple):
    """``p``, what an entry says about the previous SP."""

    sp: OrcRegister
    offset: int

    def plus(self, distance: int) -> Rule:
        """``p + distance``."""
        if self.sp is OrcRegister.BP_INDIRECT and not distance:
            return AtRegister("rbp", self.offset)
        if self.sp in _NAMES:
            return RegisterPlus(_NAMES[self.sp], self.offset + distance)
        return ValExpression(self._operations(distance))

    def stored(self, distance: int) -> Rule:
        """``*(p + distance)``."""
        if self.sp in _NAMES:
            return AtRegister(_NAMES[self.sp], self.offset + distance)
        return ExpressionRule(self._operations(distance))

    def _operations(self, distance: int) -> tuple[Operation, ...]:
        """``p + distance`` for the indirect ones: ``*(BP + offset)``, and ``*SP + offset`` since Linux 5.12."""
        if self.sp is OrcRegister.SP_INDIRECT:
            base, inner, outer = _BREG_SP, 0, self.offset + distance
        else:
            base, inner, outer = _BREG_BP, self.offset, distance
        return (
            Operation(base, (inner,), 0),
            Operation(_DEREF, (), 0),
            Operation(_CONSTS, (outer,), 0),
            Operation(_PLUS, (), 0),
        )


ENTRIES, PLACES, HEADER = ORC_ENTRIES, ORC_PLACES, ORC_HEADER

_ENTRY, _PLACE = 6, 4  # bytes
_HASH_SINCE_6_4 = bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24")  # what scripts/orc_hash.sh gives


@once_per_image
def orc_index(image: Image, layout: OrcLayout | None = None) -> IndexedTable:
    """Which entry each pc of an image has; what it means is worked out when it is asked for.

    Without a ``layout`` it is the one that `.orc_header` names, or, where no header is, the one that the entries
    prove. What breaks the format in one entry is the matter of its pcs. Raises NoUnwindInfo where a section is missing,
    MalformedTable where the sections' sizes break the format, UnsupportedRule for a header that is not known here.
    """
    entries = _entries(image)
    its_layout = layout or layout_of(image, entries)
    # Of two entries for one pc, the one that says nothing stands for a gap that the other fills.
    entries.sort(key=lambda entry: (entry.start, entry.kind(its_layout) is not OrcType.NOTHING))
    code = sorted((s.address, s.address + s.size) for s in image.segments if s.executable)
    ends = [*(entry.start for entry in entries[1:]), 1 << (8 * image.arch.word)]
    parts = []
    for i, (entry, end) in enumerate(zip(entries, ends, strict=False)):
        # No entry reaches beyond the executable segment that it starts in: the last one has no successor to end it.
        end = min(end, max((high for low, high in code if low <= entry.start < high), default=entry.start))
        if entry.start < end:
            parts.append(Part(entry.start, end, i))

    def rows(part: Part) -> Sequence[UnwindRow]:
        row = entry_row(entries[part.entry], its_layout, part.end)
        return () if row is None else (row,)

    return IndexedTable(ENTRIES, tuple(parts), rows)


def _entries(image: Image) -> list[OrcEntry]:
    found, places = image.sections.get(ENTRIES), image.sections.get(PLACES)
    if found is None or places is None:
        raise NoUnwindInfo(f"{image} has no {ENTRIES if found is None else PLACES}")
    reader, at = reader_of(image, found, ENTRIES), reader_of(image, places, PLACES)
    if reader.left % _ENTRY:
        raise reader.error(f"the section has {reader.left} bytes, which are no entries of {_ENTRY}", at=0)
    if at.left * _ENTRY != reader.left * _PLACE:
        raise at.error(f"{at.left} bytes of places for {reader.left // _ENTRY} entries", at=0)
    distances = unpack_from(f"<{at.left // _PLACE}i", places.data)
    return [
        OrcEntry(_ENTRY * i, places.address + _PLACE * i + distance & image.arch.word_mask, *fields)
        for i, (distance, fields) in enumerate(zip(distances, iter_unpack("<hhH", found.data), strict=True))
    ]


def layout_of(image: Image, entries: list[OrcEntry]) -> OrcLayout:
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
