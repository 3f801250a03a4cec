"""Calls by their encoding are the calls of a disassembler."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch, Isa
from testbed.image import Image
from testbed.image.model import Segment
from testbed.verdicts.assumptions.scans import call_ending_at
from unwinders.formats.call_instructions import call_before

ISAS = [(arch, isa) for arch in ARCHES.values() for isa in arch.isas]
# What makes a word a call, or nearly one: (bits that are set, bits that are random).
NEARLY = {
    "arm64": [(0x94000000, 0x3FFFFFF), (0xD63F0000, 0x3E0), (0xD63F0800, 0x100077F), (0xD63F0000, 0x1FFFFFF)],
    "a32": [(0x0B000000, 0xF0FFFFFF), (0xFA000000, 0x1FFFFFF), (0x012FFF30, 0xF000000F), (0x012FFF00, 0xF00000FF)],
    "thumb": [(0xD000F000, 0x2FFF07FF), (0xC000F000, 0x3FFF07FF), (0x00004780, 0xFFFF00FF), (0x4780_0000, 0xFFFFFF)],
}


def code_of(isa: Isa, chance: random.Random) -> Iterator[bytes]:
    if isa.name == "x86_64":
        for operand in range(256):
            for index in (0x00, 0x05, 0x25, 0x64, 0xE8):
                yield bytes([0x90, 0x90, chance.randrange(256), 0xFF, operand, index]) + chance.randbytes(4)
            yield b"\xe8" + chance.randbytes(3) + b"\0\0"
    else:
        for fixed, free in NEARLY[isa.name] * 300:
            yield (fixed | chance.getrandbits(32) & free).to_bytes(4, "little")


@pytest.mark.parametrize(("arch", "isa"), ISAS, ids=lambda value: value.name)
def test_both_find_the_same_calls(arch: Arch, isa: Isa) -> None:
    code = b"".join(code_of(isa, random.Random(1)))
    image = Image(Path("code"), arch, 0, (Segment(0x4000, code, len(code), True, False, True),), {}, ())
    found = named = 0
    for address in range(0x4001, 0x4000 + len(code) + 2):
        own, other = call_ending_at(image, address, isa), call_before(image, address, isa)
        assert (own is None) == (other is None), f"{address:#x}: {code[address - 0x4008 : address - 0x4000].hex()}"
        if own is not None and other is not None:
            found, named = found + 1, named + (own.target is not None)
            targets = [each.target and each.target & arch.word_mask for each in (own, other)]
            assert targets[0] == targets[1], f"{address:#x}: {code[address - 0x4008 : address - 0x4000].hex()}"
    assert found > named > 100
