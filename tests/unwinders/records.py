"""Stacks of frame records, built by hand, of every layout."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES, Arch, FrameRecord
from testbed.image import Image, LoadedImage, Symbol
from testbed.trace import Snapshot
from tests.unwinders.frames import START, image, snapshot, u

STACK = 0x8000
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


def linked_frames(arch: Arch, record: FrameRecord, **registers: int) -> Snapshot:
    """Three frames in mid-function; the outermost has a frame pointer of zero."""
    stack = bytearray(40 * arch.word)
    first, second = STACK + 4 * arch.word, STACK + 12 * arch.word
    for at, pointer, return_address in ((first, second, 0x1020), (second, 0, 0x1030)):
        for offset, value in ((record.saved_pointer, pointer), (record.return_address, return_address)):
            start = at + offset - STACK
            stack[start : start + arch.word] = u(arch.word, value)
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: 0x1010, arch.sp: STACK}
    values |= {record.pointer: first, **registers}
    return snapshot(arch, values, [(STACK, bytes(stack))], [LoadedImage(built_with(arch, record))])
