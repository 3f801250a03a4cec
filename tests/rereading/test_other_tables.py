"""SFrame, ORC and Apple's compact unwind: what each field of an entry does, bytes to rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from testbed.arch import Arch
from testbed.rereading import reread
from tests.rereading.shown import shown
from tests.unwinders import compact, sframes
from tests.unwinders.frames import ARM64, START, X86_64, block, cie, entry, image, u

# SFrame.


def sframe(*fres: bytes, arch: Arch = X86_64, at: int = 8, **fields: int) -> str:
    fields = {"abi": 2, "ra": 0} | fields if arch is ARM64 else fields
    table = sframes.section((START, 0x100, fres), **fields)  # type: ignore[arg-type]
    return shown(reread(sframes.made(table, arch), ".sframe", START + at))


FIRST, SECOND = sframes.fre(0, 8), sframes.fre(8, 16, -16)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("flags", [0, sframes.PC_RELATIVE])
def test_sframe_rows_by_their_starts(version: int, flags: int) -> None:
    said = {at: sframe(FIRST, SECOND, at=at, version=version, flags=flags) for at in (-1, 7, 8, 0xFF, 0x100)}
    assert list(said.values()) == [
        "no row: no FDE of .sframe covers 0xfff",
        "CFA rsp+0x8, returns to [CFA-0x8], rbp rbp",
        *["CFA rsp+0x10, returns to [CFA-0x8], rbp [CFA-0x10]"] * 2,
        "no row: no FDE of .sframe covers 0x1100",
    ]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_sframe_widths(size: int) -> None:
    fre = sframes.fre(8, 16, -16, size=size, width=size, base=sframes.FP)
    assert sframe(fre, info={1: 0, 2: 1, 4: 2}[size]) == "CFA rbp+0x10, returns to [CFA-0x8], rbp [CFA-0x10]"


def test_sframe_places_of_the_return_address_and_of_the_frame_pointer() -> None:
    rows = [sframes.fre(0, *words) for words in ((32,), (32, -16), (32, -24, -32), (32, 0, -32))]
    assert [sframe(row, arch=ARM64) for row in rows] == [
        "CFA sp+0x20, returns to x30, x29 x29",
        "CFA sp+0x20, returns to [CFA-0x10], x29 x29",
        "CFA sp+0x20, returns to [CFA-0x18], x29 [CFA-0x20]",
        "CFA sp+0x20, returns to x30, x29 [CFA-0x20]",
    ]
    assert sframe(rows[0], arch=ARM64, fp=-16, ra=-8) == "CFA sp+0x20, returns to [CFA-0x8], x29 [CFA-0x10]"
    assert sframe(sframes.fre(0, 0, extra=0x80), arch=ARM64) == "CFA sp, returns to x30, x29 x29, signed"


def test_sframe_the_outermost_frame_blocks_and_what_is_no_table() -> None:
    assert sframe(sframes.fre(0)) == "CFA None, returns to lost"
    assert [sframe(FIRST, SECOND, at=at, info=0x10, block=16)[:12] for at in (0x17, 0x18, 0x20)] == [
        *("CFA rsp+0x8,", "CFA rsp+0x10", "CFA rsp+0x8,")
    ]
    assert "that repeat" in sframe(FIRST, info=0x10, version=1)
    assert sframe(SECOND, at=7).startswith("no row: the FDE at .sframe+0x1c has no row")
    assert sframe(FIRST, auxiliary=b"1234") == sframe(FIRST)  # type: ignore[arg-type]
    assert sframe(FIRST, magic=0xDEE3).startswith("no row: the second reader cannot read .sframe: magic 0xdee3")


# ORC.


def orc(bits: int, sp: int = 0x10, bp: int = -0x10, *, others: Sequence[int] = ()) -> str:
    """What an entry says; ``others`` are the bits of more entries of the section, behind it."""
    every = [(sp, bp, bits), *((8, 0, other) for other in others)]
    places = b"".join(u(4, START + 16 * i - (0x5000 + 4 * i)) for i in range(len(every)))
    content = b"".join(struct.pack("<hhH", *each) for each in every)
    made = image(_orc_unwind=(0x4000, content), _orc_unwind_ip=(0x5000, places))
    return shown(reread(made, ".orc_unwind", START + 8))


CALL = 2 << 8
OLD = 5 | 0 << 8  # a call of the older layout
SAVED = "r12 [rsp+0x28], r13 [rsp+0x20], r14 [rsp+0x18], r15 [rsp+0x10], rbp [rsp+0x30], rbx [rsp+0x38]"


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        (5 | CALL, "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp"),
        (4 | CALL, "CFA rbp+0x10, returns to [rbp+0x8], rbp rbp"),
        (2 | CALL, "CFA rdx, returns to [rdx-0x8], rbp rbp"),
        (3 | CALL, "CFA rdi, returns to [rdi-0x8], rbp rbp"),
        (6 | CALL, "CFA r10, returns to [r10-0x8], rbp rbp"),
        (7 | CALL, "CFA r13, returns to [r13-0x8], rbp rbp"),
        (8 | CALL, "CFA [rbp+0x10], returns to [[rbp+0x10]-0x8], rbp rbp"),
        (9 | CALL, "CFA [rsp]+0x10, returns to [[rsp]+0x8], rbp rbp"),
        (5 | 1 << 4 | CALL, "CFA rsp+0x10, returns to [rsp+0x8], rbp [rsp]"),
        (5 | 4 << 4 | CALL, "CFA rsp+0x10, returns to [rsp+0x8], rbp [rbp-0x10]"),
        (5 | CALL | 1 << 11, "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp, signal"),
        (5 | 3 << 8 | 1 << 11, f"CFA [rsp+0xa8], returns to [rsp+0x90], {SAVED}, signal"),
        (5 | 4 << 8 | 1 << 11, "CFA [rsp+0x28], returns to [rsp+0x10], rbp rbp, signal"),
        (1 << 8, "CFA None, returns to lost"),
        (0, "no row: the entry says that nothing is known here"),
        (10 | CALL, "no row: the second reader cannot read .orc_unwind: 10"),
    ],
)
def test_orc_entries(bits: int, said: str) -> None:
    assert orc(bits) == said


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        (OLD, "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp"),
        (5 | 1 << 8, f"CFA [rsp+0xa8], returns to [rsp+0x90], {SAVED}, signal"),
        (5 | 2 << 8, "CFA [rsp+0x28], returns to [rsp+0x10], rbp rbp, signal"),
        (1 << 10, "CFA None, returns to lost"),
        (0, "no row: the entry says that nothing is known here"),
    ],
)
def test_orc_entries_of_the_older_layout(bits: int, said: str) -> None:
    assert orc(bits, others=[OLD]) == said


# Compact unwind.


def encoded(arch: Arch, encoding: int, **parts: bytes) -> str:
    made = compact.image_of(arch, encoding, **parts)
    return shown(reread(made, "__compact_unwind", compact.CODE + 0x10))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (0x0100_0000, "CFA rbp+0x10, returns to [rbp+0x8], rbp [rbp]"),
        (0x0103_0119, "CFA rbp+0x10, returns to [rbp+0x8], r13 [rbp-0x10], r14 [rbp-0x8], rbp [rbp], rbx [rbp-0x18]"),
        (0x0200_0000 | 2 << 16, "CFA rsp+0x10, returns to [rsp+0x8]"),
        (0x0200_0000 | 4 << 16 | 2 << 10 | 5 + 3, "CFA rsp+0x20, returns to [rsp+0x18], r12 [rsp+0x8], r15 [rsp+0x10]"),
        (0x0300_0000 | 3 << 16 | 2 << 13 | 1 << 10 | 5, "CFA rsp+0x1010, returns to [rsp+0x1008], rbp [rsp+0x1000]"),
        (0x0500_0000, "no row: the second reader cannot read __compact_unwind: a mode 5"),
        (0, "no row: the encoding says that there is no unwind information"),
        (0x0400_0000, "no row: the encoding defers to __eh_frame, which is not there"),
    ],
)
def test_compact_encodings_of_x86_64(encoding: int, said: str) -> None:
    assert encoded(X86_64, encoding, code=bytes.fromhex("4881ec00100000") + bytes(0xF9)) == said


@pytest.mark.parametrize(("count", "orders"), [(1, 6), (2, 30), (3, 120), (4, 360), (5, 720), (6, 720)])
def test_every_order_of_saved_registers_has_one_number(count: int, orders: int) -> None:
    """And number 0 is the order of rbx to rbp."""
    said = [encoded(X86_64, 0x0200_0000 | 8 << 16 | count << 10 | number) for number in range(orders)]
    assert len(set(said)) == orders
    last = ("rbx", "r12", "r13", "r14", "r15", "rbp")[:count]
    assert all(f"{name} [rsp+{0x38 - 8 * count + 8 * i:#x}]" in said[0] for i, name in enumerate(last))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (0x0200_2000, "CFA sp+0x20, returns to x30"),
        (0x0200_2001, "CFA sp+0x20, returns to x30, x19 [sp+0x18], x20 [sp+0x10]"),
        (0x0400_0000, "CFA x29+0x10, returns to [x29+0x8], x29 [x29]"),
        (
            0x0400_0102,
            "CFA x29+0x10, returns to [x29+0x8], "
            "d8 [x29-0x18], d9 [x29-0x20], x21 [x29-0x8], x22 [x29-0x10], x29 [x29]",
        ),
    ],
)
def test_compact_encodings_of_arm64(encoding: int, said: str) -> None:
    assert encoded(ARM64, encoding) == said


@pytest.mark.parametrize("padding", [0, 1])
def test_a_compact_encoding_may_defer_to_a_frame_entry(padding: int) -> None:
    """By its offset, which need not be even; or by 0, where a CIE stands, to whichever covers the pc."""
    head = cie(b"\x0c\x1f\x00" + bytes(padding), id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30)
    at = len(head)
    start = compact.CODE - (compact.FRAME_ADDRESS + at + 8)
    frame = head + entry(u(4, at + 4) + u(8, start) + u(8, 0x100) + block(b"") + b"\x44\x0e\x20\x9e\x02")
    for offset in (at, 0):
        assert encoded(ARM64, 0x0300_0000 | offset, frame=frame) == "CFA sp+0x20, returns to [CFA-0x10]"


def test_compact_pages() -> None:
    functions = [(START, 0x0200_1000), (START + 8, 0x0200_2000), (START + 16, 0x0200_3000)]
    pages = [
        (START, compact.regular(functions)),
        (START + 0x40, compact.compressed(START + 0x40, [(at + 0x40, e) for at, e in functions], [0x0200_2000])),
        (START + 0x80, b""),
    ]
    made = compact.image_with(ARM64, compact.section(pages, START + 0xC0, common=[0x0200_2000]))
    ats = (-1, 0, 9, 0x3F, 0x40, 0x48, 0x7F, 0x80, 0xC0)
    assert [shown(reread(made, "__compact_unwind", compact.CODE + at))[:11] for at in ats] == [
        *("no row: no ", "CFA sp+0x10", "CFA sp+0x20", "CFA sp+0x30", "CFA sp+0x10", "CFA sp+0x20", "CFA sp+0x30"),
        *("no row: no ", "no row: no "),
    ]
