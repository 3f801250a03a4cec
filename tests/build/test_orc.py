"""`.orc_unwind` as we write it, spelled out from Linux 6.4's orc_types.h; and what it cannot say."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from testbed.build import directives as d
from testbed.build.tables.cfi_program import Procedure
from testbed.build.tables.orc import write_orc
from tests.build.procedures import X86, procedure

ADDRESS = 0x5000
NOTHING, END = (0, 0, 0), (0, 0, 0x100)
ENTRY = (8, 0, 0x205)  # sp + 8, BP unchanged, a call


def written(*procedures: Procedure) -> list[tuple[int, tuple[int, int, int]]]:
    """(pc, (SP offset, BP offset, bits)) of every entry."""
    places, entries, _ = write_orc(procedures, X86, ADDRESS)
    pcs = [ADDRESS + 4 * i + distance for i, (distance,) in enumerate(struct.iter_unpack("<i", places))]
    return list(zip(pcs, struct.iter_unpack("<hhH", entries), strict=True))


def said(*rules: tuple[int, d.CfiDirective]) -> list[tuple[int, tuple[int, int, int]]]:
    """The entries of one procedure, without the one at its end: nothing is known from there on."""
    found = written(procedure(*rules))
    assert found[-1][1] == NOTHING
    return found[:-1] if found[-1][0] == 0x1040 else found


def test_the_header_is_the_hash_of_the_kernels_file() -> None:
    assert write_orc((), X86, 0) == (b"", b"", bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24"))


@pytest.mark.parametrize(
    ("rules", "entry"),
    [
        ((d.cfi("def_cfa_offset", 16), d.cfi("offset", 6, -16)), (16, -16, 0x215)),
        ((d.cfi("def_cfa", 6, 16), d.cfi("offset", 6, -16)), (16, -16, 0x214)),
        ((d.cfi("def_cfa_offset", 0x7FFF),), (0x7FFF, 0, 0x205)),
        ((d.cfi("def_cfa", 10, 0),), (0, 0, 0x206)),
        ((d.cfi("def_cfa", 13, 0),), (0, 0, 0x207)),
        ((d.cfi("def_cfa", 5, 0),), (0, 0, 0x203)),
        ((d.cfi("def_cfa", 1, 0),), (0, 0, 0x202)),
        ((d.cfi("escape", *b"\x0f\x03\x76\x78\x06"),), (-8, 0, 0x208)),
        ((d.cfi("escape", *b"\x10\x06\x02\x76\x00"),), (8, 0, 0x245)),
        ((d.cfi("undefined", 16),), END),
        ((d.cfi("same_value", 6),), ENTRY),
        ((d.cfi("offset", 3, -16),), ENTRY),
        # What follows cannot be said.
        ((d.cfi("def_cfa_offset", 0x8000),), NOTHING),
        ((d.cfi("def_cfa", 10, 8),), NOTHING),  # the kernel would not add the offset
        ((d.cfi("def_cfa", 11, 0),), NOTHING),
        ((d.cfi("escape", *b"\x0f\x03\x77\x08\x06"),), NOTHING),
        ((d.cfi("escape", *b"\x16\x06\x01\x30"),), NOTHING),
        ((d.cfi("offset", 16, -16),), NOTHING),
        ((d.cfi("val_offset", 6, -16),), NOTHING),
        ((d.cfi("undefined", 6),), NOTHING),
        ((d.cfi("offset", 6, -0x8001),), NOTHING),
    ],
)
def test_an_entry(rules: tuple[d.CfiDirective, ...], entry: tuple[int, int, int]) -> None:
    found = said(*((0x1008, rule) for rule in rules))
    assert found == ([(0x1000, ENTRY)] if entry == ENTRY else [(0x1000, ENTRY), (0x1008, entry)])


def test_procedures_that_touch_have_no_gap_between_them() -> None:
    first, second = procedure(), procedure(start=0x1040, end=0x1050)
    assert written(second, first) == [(0x1000, ENTRY), (0x1050, NOTHING)]
    apart = procedure(start=0x1048, end=0x1050)
    assert written(first, apart) == [(0x1000, ENTRY), (0x1040, NOTHING), (0x1048, ENTRY), (0x1050, NOTHING)]


def test_a_signal_frame_says_nothing() -> None:
    assert {entry for _, entry in written(replace(procedure(), signal_frame=True))} == {NOTHING}
    assert {entry for _, entry in written(replace(procedure(), return_column=3))} == {NOTHING}
