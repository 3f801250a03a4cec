"""Stacks of frame records, built by hand, of every layout."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.image import Image, LoadedImage, Symbol
from testbed.trace import Snapshot
from tests.unwinders.frames import START, image, snapshot, u

STACK = 0x8000
FIRST, SECOND = 4, 12  # where the frame records are, in words from SP
RECORDS = [
    pytest.param(arch, record, id=f"{arch}-{record.name}")
    for arch in ARCHES.values()
    for isa in arch.isas
    for record in isa.records
]


def built_with(arch: Arch, record: FrameRecord) -> Image:
    """An image whose one function, at START, was compiled with this frame record."""
    isa = next(isa for isa in arch.isas if record in isa.records)
    plain = image(arch, symbols=(Symbol("f", START, 0x100, True),))
    return Image(plain.path, arch, START, plain.segments, {}, plain.symbols, ((START, isa),), {isa.name: record})


def with_records(arch: Arch, record: FrameRecord, records: Mapping[int, tuple[int, int]], **registers: int) -> Snapshot:
    """A stack with these frame records, by their place in words from SP: where each one leads, and its return address.

    The frame pointer leads to the first one. A place of 0 ends the chain.
    """
    stack = bytearray(40 * arch.word)
    for place, (leads_to, return_address) in records.items():
        pointer = STACK + leads_to * arch.word if leads_to else 0
        for offset, value in ((record.saved_pointer, pointer), (record.return_address, return_address)):
            start = place * arch.word + offset
            stack[start : start + arch.word] = u(arch.word, value)
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: 0x1010, arch.sp: STACK}
    values |= {record.pointer: STACK + min(records) * arch.word, **registers}
    return snapshot(arch, values, [(STACK, bytes(stack))], [LoadedImage(built_with(arch, record))])


def linked_frames(arch: Arch, record: FrameRecord, **registers: int) -> Snapshot:
    """Three frames in mid-function; the outermost has a frame pointer of zero."""
    return with_records(arch, record, {FIRST: (SECOND, 0x1020), SECOND: (0, 0x1030)}, **registers)
