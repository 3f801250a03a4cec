"""`.ARM.exidx`: the instructions of EHABI32, table 4, in its order; models of entries; which entry covers a pc."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.image import Image, Section, Segment
from testbed.rereading import reread
from tests.rereading.beside import differences
from tests.rereading.shown import shown
from tests.unwinders.frames import ARM32, START, image, u

INDEX, TABLE = 0x4000, 0x5000


def made(*contents: int, table: bytes = b"") -> Image:
    """Functions of 16 bytes from START on; each has an inline word, or the distance into ``table`` of its entry."""
    index = b""
    for i, content in enumerate(contents):
        at = INDEX + 8 * i
        inline = content if content == 1 or content >> 31 else (TABLE + content - at - 4) & 0x7FFF_FFFF
        index += u(4, (START + 16 * i - at) & 0x7FFF_FFFF) + u(4, inline)
    there = image(ARM32, _ARM_exidx=(INDEX, index))
    sections = {".ARM.exidx": there.sections[".ARM_exidx"], ".ARM.extab": Section(".ARM.extab", TABLE, 0, table)}
    data = Segment(TABLE, table, len(table), True, False, False)
    return replace(there, sections=sections, segments=(*there.segments, data), entry=START + 0x100)


def said(instructions: bytes) -> str:
    """What an entry of model 1 with these instructions says."""
    padded = instructions + b"\xb0" * (-(len(instructions) - 2) % 4)
    words = [padded[:2], *(padded[i : i + 4] for i in range(2, len(padded), 4))]
    table = u(4, 0x8100_0000 | len(words) - 1 << 16 | int.from_bytes(words[0], "big"))
    table += b"".join(word[::-1] for word in words[1:])
    there = made(0, table=table)
    assert not [*differences(there, ".ARM.exidx", [START + 4])]
    return shown(reread(there, ".ARM.exidx", START + 4))


@pytest.mark.parametrize(
    ("instructions", "row"),
    [
        ("b0b0", "CFA sp, returns to lr"),
        ("01b0", "CFA sp+0x8, returns to lr"),
        ("3fb0", "CFA sp+0x100, returns to lr"),
        ("41b0", "CFA sp-0x8, returns to lr"),
        ("8409", "CFA sp+0xc, returns to [sp+0x8], lr [sp+0x8], r4 [sp], r7 [sp+0x4]"),
        ("8801", "CFA sp+0x8, returns to [sp+0x4], r4 [sp]"),
        ("8201", "CFA [sp+0x4], returns to lr, r4 [sp]"),  # sp itself is popped
        ("97b0", "CFA r7, returns to lr"),
        ("9b02", "CFA r11+0xc, returns to lr"),
        ("a1b0", "CFA sp+0x8, returns to lr, r4 [sp], r5 [sp+0x4]"),
        ("a8b0", "CFA sp+0x8, returns to [sp+0x4], lr [sp+0x4], r4 [sp]"),
        ("b10fb0b0", "CFA sp+0x10, returns to lr, r0 [sp], r1 [sp+0x4], r2 [sp+0x8], r3 [sp+0xc]"),
        ("b28102b0", "CFA sp+0x608, returns to lr"),
        ("b381b0b0", "CFA sp+0x14, returns to lr, d8 [sp], d9 [sp+0x8]"),
        ("b9b0", "CFA sp+0x14, returns to lr, d8 [sp], d9 [sp+0x8]"),
        ("c800b0b0", "CFA sp+0x8, returns to lr, d16 [sp]"),
        ("c980b0b0", "CFA sp+0x8, returns to lr, d8 [sp]"),
        ("d1b0", "CFA sp+0x10, returns to lr, d8 [sp], d9 [sp+0x8]"),
        ("a09401b0", "CFA [sp]+0x8, returns to lr, r4 [sp]"),  # vsp from what was popped
        ("b001", "CFA sp, returns to lr"),  # nothing behind finish
        ("b4b5", "CFA sp+0x4, returns to lr"),  # the return address is signed, with SP behind its code
        ("b2808000", "CFA sp+0x204, returns to lr"),  # a number may be longer than it must
        ("820082a0", "CFA [[sp]+0x8], returns to lr, r11 [[sp]+0x4], r9 [[sp]]"),  # from one stack to the next
    ],
)
def test_instructions(instructions: str, row: str) -> None:
    assert said(bytes.fromhex(instructions)) == row


@pytest.mark.parametrize("code", ["9db0", "9fb0", "b100", "b110", "b3f1", "c1b0", "c8f1", "cab0", "d8b0", "f0b0"])
def test_reserved_and_spare_instructions_are_no_row(code: str) -> None:
    assert said(bytes.fromhex(code)).startswith("no row: the second reader cannot read .ARM.exidx: an instruction")


def test_refusals() -> None:
    assert said(b"\x80\x00") == "no row: the entry refuses to unwind"
    cannot = made(1, 0x80B0_B0B0)
    assert shown(reread(cannot, ".ARM.exidx", START)) == "no row: the entry says EXIDX_CANTUNWIND"
    assert shown(reread(replace(cannot, entry=START), ".ARM.exidx", START)) == "CFA None, returns to lost"


def test_models() -> None:
    compact, more, generic = u(4, 0x80A8_B0B0), u(4, 0x8201_01A8) + u(4, 0xB0FF_FFFF), u(4, 0x0000_0010)
    table = compact + more + generic + u(4, 0x0101_A8D0) + u(4, 0xB0FF_FFFF) + u(4, 0x8300_0000)
    there = made(0x8001_02B0, 0, 4, 12, 24, table=table)
    rows = [shown(reread(there, ".ARM.exidx", START + 16 * i + 5)) for i in range(5)]
    assert rows == [
        "CFA sp+0x14, returns to lr",  # inline
        "CFA sp+0x8, returns to [sp+0x4], lr [sp+0x4], r4 [sp]",  # model 0
        "CFA sp+0x10, returns to [sp+0xc], lr [sp+0xc], r4 [sp+0x8]",  # model 2, a word more
        "CFA sp+0x18, returns to [sp+0xc], d8 [sp+0x10], lr [sp+0xc], r4 [sp+0x8]",  # generic, a word more
        "no row: the second reader cannot read .ARM.exidx: a compact model 3",
    ]


def test_an_entry_holds_up_to_the_next_one_and_the_last_one_up_to_the_end_of_the_code() -> None:
    there = made(0x80B0_B0B0, 0x8000_B0B0)
    said = {pc: shown(reread(there, ".ARM.exidx", pc)) for pc in (START - 2, START + 14, START + 16, START + 0x1000)}
    assert list(said.values()) == [
        "no row: no entry of .ARM.exidx covers 0xffe",
        "CFA sp, returns to lr",
        "CFA sp+0x4, returns to lr",
        "no row: no entry of .ARM.exidx covers 0x2000",
    ]
