"""ORC sections made entry by entry, and what is read of them."""

import struct
from collections.abc import Mapping

import pytest

from testbed.contract.rows import UnwindRow
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image
from tests.unwinders.frames import START, X86_64, image, read_alike, snapshot, told, u
from unwinders.formats.orc import OrcLayout, OrcRegister, orc_index
from unwinders.rows.walk import apply

ENTRIES_AT, PLACES_AT = 0x4000, 0x5000
OLD, NEW = OrcLayout.UP_TO_6_2, OrcLayout.SINCE_6_4
HASH = bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24")
CODE_END = START + 0x1000
R = OrcRegister
CALL = {OLD: 0, NEW: 2}
REGISTERS = {OLD: 1, NEW: 3}
INTERRUPT = {OLD: 2, NEW: 4}


def bits(kind: int, sp: int = R.SP, bp: int = 0, *, extra: int = 0) -> int:
    """The third half-word; ``extra`` is for the bits above the type."""
    return sp | bp << 4 | kind << 8 | extra


def entry(third: int, sp_offset: int = 8, bp_offset: int = 0) -> bytes:
    return struct.pack("<hhH", sp_offset, bp_offset, third)


END = {OLD: entry(1 << 10, 0), NEW: entry(1 << 8, 0)}
NOTHING = entry(0, 0)


def made(*entries: tuple[int, bytes], header: bytes | None = None) -> Image:
    """An image with these entries, each for the code from a pc on."""
    places = b"".join(u(4, pc - (PLACES_AT + 4 * i)) for i, (pc, _) in enumerate(entries))
    sections = {
        "_orc_unwind": (ENTRIES_AT, b"".join(content for _, content in entries)),
        "_orc_unwind_ip": (PLACES_AT, places),
    }
    if header is not None:
        sections["_orc_header"] = (0x6000, header)
    return image(**sections)


def one(third: int, sp_offset: int = 8, bp_offset: int = 0, *, layout: OrcLayout = NEW) -> UnwindRow:
    """The row of an entry, by both readers; the header says the layout, or a call of it behind the entry."""
    entries = (START, entry(third, sp_offset, bp_offset)), (START + 0x10, entry(bits(CALL[layout])))
    image = read_alike(made(*entries, header=HASH if layout is NEW else None), ".orc_unwind", START)
    return told(orc_index(image).all_rows()).rows[0]


LAYOUTS = pytest.mark.parametrize("layout", [OLD, NEW], ids=["old", "new"])


def applied(row: UnwindRow, registers: Mapping[str, int], stack: bytes, at: int = 0x8000) -> Frame:
    """The caller that a row gives."""
    frame = Frame(FrameKind.INTERRUPTED, row.start, {"rip": row.start, "rbp": 0x77, **registers})
    caller = apply(row, frame, snapshot(X86_64, frame.registers, [(at, stack)]))[1]
    assert caller is not None
    return caller
