"""`.sframe` as we write it, spelled out from the specification of version 2; and what it leaves out."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from testbed.arch import Arch
from testbed.build import directives as d
from testbed.build.tables.cfi_program import Procedure
from testbed.build.tables.sframe import write_sframe
from tests.build.procedures import ARM64, X86, procedure

ADDRESS = 0x5000
PUSHED = ((0x1001, d.cfi("def_cfa_offset", 16)), (0x1001, d.cfi("offset", 6, -16)))


def parts(procedures: list[Procedure], arch: Arch = X86) -> tuple[bytes, bytes, bytes]:
    """Header, function entries, rows."""
    content = write_sframe(procedures, arch, ADDRESS)
    count = struct.unpack_from("<I", content, 8)[0]
    return content[:28], content[28 : 28 + 20 * count], content[28 + 20 * count :]


def rows(*rules: tuple[int, d.CfiDirective], arch: Arch = X86, end: int = 0x1040) -> str:
    return parts([procedure(*rules, end=end)], arch)[2].hex(" ")


def test_the_header_names_version_abi_and_fixed_places() -> None:
    header = parts([procedure(*PUSHED)])[0]
    assert header.hex(" ") == ("e2 de 02 05 03 00 f8 00 01 00 00 00 02 00 00 00 07 00 00 00 00 00 00 00 14 00 00 00")
    assert parts([procedure()], ARM64)[0][4:8].hex(" ") == "02 00 00 00"


def test_an_entry_is_a_distance_a_size_and_where_its_rows_are() -> None:
    two = [procedure(start=0x2000, end=0x2010), procedure(*PUSHED)]
    first, second = struct.iter_unpack("<iIIIBBH", parts(two)[1])
    assert first == (0x1000 - (ADDRESS + 28), 0x40, 0, 2, 0, 0, 0)  # sorted
    assert second == (0x2000 - (ADDRESS + 48), 0x10, 7, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((), "00 03 08"),
        (PUSHED, "00 03 08 01 05 10 f0"),
        (((0x1004, d.cfi("def_cfa", 6, 16)), (0x1004, d.cfi("offset", 6, -16))), "00 03 08 04 04 10 f0"),
        (((0x1004, d.cfi("def_cfa_offset", 0x80)),), "00 03 08 04 23 80 00"),
        (((0x1004, d.cfi("def_cfa_offset", 0x8000)),), "00 03 08 04 43 00 80 00 00"),
        (((0x1000, d.cfi("undefined", 16)),), "00 01"),
        (((0x1004, d.cfi("offset", 3, -16)),), "00 03 08"),  # a register that it does not know changes nothing
        (((0x1004, d.cfi("escape", *b"\x2e\x10")),), "00 03 08"),
    ],
)
def test_rows_on_x86_64(rules: tuple[tuple[int, d.CfiDirective], ...], said: str) -> None:
    assert rows(*rules) == said


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((), "00 03 00"),
        (tuple((0x1004, d.cfi(*said)) for said in (("def_cfa_offset", 32), ("offset", 30, -24), ("offset", 29, -32))),
         "00 03 00 04 07 20 e8 e0"),
        (((0x1004, d.cfi("def_cfa_offset", 16)), (0x1004, d.cfi("offset", 30, -8))), "00 03 00 04 05 10 f8"),
        (((0x1004, d.cfi("negate_ra_state")),), "00 03 00 04 83 00"),
        (((0x1000, d.cfi("undefined", 30)),), "00 01"),
    ],
)  # fmt: skip
def test_rows_on_arm64(rules: tuple[tuple[int, d.CfiDirective], ...], said: str) -> None:
    assert rows(*rules, arch=ARM64) == said


@pytest.mark.parametrize(("size", "kind", "start"), [(0xFF, 0, 1), (0x100, 1, 2), (0x10000, 2, 4)])
def test_the_size_of_a_function_decides_how_wide_starts_are(size: int, kind: int, start: int) -> None:
    _, entry, content = parts([procedure(end=0x1000 + size)])
    assert entry[16] == kind
    assert content == bytes(start) + b"\x03\x08"


@pytest.mark.parametrize(
    ("arch", "rule"),
    [
        (X86, d.cfi("def_cfa", 10, 0)),
        (X86, d.cfi("escape", *b"\x0f\x03\x76\x78\x06")),
        (X86, d.cfi("escape", *b"\x16\x06\x01\x30")),
        (X86, d.cfi("offset", 16, -16)),
        (X86, d.cfi("register", 16, 1)),
        (X86, d.cfi("val_offset", 6, -16)),
        (X86, d.cfi("undefined", 6)),
        (ARM64, d.cfi("offset", 29, -16)),  # the frame pointer without the link register
        (ARM64, d.cfi("register", 30, 17)),
    ],
)
def test_a_function_of_which_one_row_cannot_be_said_is_left_out_whole(arch: Arch, rule: d.CfiDirective) -> None:
    kept = procedure(start=0x2000, end=0x2010)
    _, entries, _ = parts([procedure((0x1008, rule)), kept], arch)
    assert len(entries) == 20
    assert struct.unpack_from("<i", entries)[0] == 0x2000 - (ADDRESS + 28)


def test_a_signal_frame_is_left_out() -> None:
    assert parts([replace(procedure(), signal_frame=True)])[1] == b""
    assert parts([replace(procedure(), return_column=3)])[1] == b""
    assert parts([])[0][8:20] == bytes(12)
