"""What compact tables lead to: a row by its pc, the DWARF frame behind an encoding."""

from __future__ import annotations

from testbed.contract.rows import Offset, UnwindRow
from testbed.image import Image
from tests.unwinders.compact import (
    BASE,
    FRAME_ADDRESS,
)
from tests.unwinders.frames import block, cie, entry, u
from unwinders.formats.compact_unwind import compact_table

LEAF, FRAMED, SAVING = 0x0200_1000, 0x0400_0000, 0x0400_0001  # arm64


def found(made: Image, offset: int) -> UnwindRow | None:
    return compact_table(made).at(BASE + offset)


def at_cfa(**offsets: int) -> dict[str, Offset]:
    return {name: Offset(offset) for name, offset in offsets.items()}


def call_frame(start: int, size: int = 0x100) -> bytes:
    """A CIE and one FDE, whose second row begins after 4 bytes; the FDE stands behind the CIE."""
    head = cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30)
    at = len(head)
    body = u(4, at + 4) + u(8, start - (FRAME_ADDRESS + at + 8)) + u(8, size) + block(b"") + b"\x44\x0e\x20\x9e\x02"
    return head + entry(body)


FDE = len(cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30))
