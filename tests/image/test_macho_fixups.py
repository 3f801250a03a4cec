"""Pointers that dyld slides: rebase opcodes and chained pointers."""

from __future__ import annotations

import struct

import pytest

from tests.image.macho_files import (
    BASE,
    CHAINED,
    DYLD_INFO,
    LIBRARY,
    File,
    program,
)
from tests.image.macho_read import DATA, Read, refusal


def test_what_may_be_slid(read: Read) -> None:
    assert read(program()).position_independent
    assert not read(program(flags=0)).position_independent
    assert read(program(kind=LIBRARY, flags=0)).position_independent


def test_zero_filled_sections_have_no_bytes_but_memory(read: Read) -> None:
    image = read(program())
    assert "__DATA,__bss" not in image.sections
    data = next(segment for segment in image.segments if segment.address == DATA)
    assert (len(data.data), data.size, data.writable, data.executable) == (64, 128, True, False)
    assert image.bytes_at(DATA + 60, 8) == bytes(4)
    assert image.bytes_at(DATA + 64, 8) == b""


def rebasing(opcodes: bytes) -> File:
    return program().linkedit(DYLD_INFO, opcodes)


@pytest.mark.parametrize(
    ("opcodes", "words"),
    [
        pytest.param("11 22 08 51 00", [8], id="do_rebase_imm_times"),
        pytest.param("11 22 00 53", [0, 8, 16], id="three of them, the bytes end the program"),
        pytest.param("11 22 00 30 10 51 00", [16], id="add_addr_uleb"),
        pytest.param("11 22 10 30 f8 ff ff ff ff ff ff ff ff 01 51 00", [8], id="add_addr_uleb backwards"),
        pytest.param("11 22 00 42 51 00", [16], id="add_addr_imm_scaled"),
        pytest.param("11 22 08 60 02 00", [8, 16], id="do_rebase_uleb_times"),
        pytest.param("11 22 00 70 08 51 00", [0, 16], id="do_rebase_add_addr_uleb"),
        pytest.param("11 22 00 80 03 08 00", [0, 16, 32], id="do_rebase_uleb_times_skipping_uleb"),
        pytest.param("00 51", [], id="done ends it"),
    ],
)
def test_every_rebase_opcode(read: Read, opcodes: str, words: list[int]) -> None:
    assert read(rebasing(bytes.fromhex(opcodes))).rebases == tuple(DATA + word for word in words)


@pytest.mark.parametrize(
    ("opcodes", "said"),
    [
        ("90", "there is no rebase opcode 0x90"),
        ("12", "a rebase of type 2"),
        ("11 23 00", "a rebase in segment 3 of 3"),
        ("11 51", "of no segment"),
        ("11 22 39 51", "a rebase at 0x39 of __DATA"),
        ("11 22 80", "reaches past the end"),
        ("11 22" + " 80" * 11, "more than 10 bytes"),
    ],
)
def test_wrong_rebases_are_image_errors(read: Read, opcodes: str, said: str) -> None:
    assert said in refusal(read, rebasing(bytes.fromhex(opcodes))).detail


def chained(words: dict[int, int], form: int = 6, start: int = 0, page: int = 0x1000) -> File:
    """`__DATA` with a chain that starts at ``start``; ``words`` are the raw values at their offsets."""
    file = program()
    data = file.content.find(bytes(range(32))) + 32
    for at, value in words.items():
        file.content[data + at : data + at + 8] = struct.pack("<Q", value)
    segment = struct.pack("<IHHQIHH", 24, page, form, 0x4000, 0, 1, start)
    starts = struct.pack("<IIII", 3, 0, 0, 16) + segment
    return file.linkedit(CHAINED, struct.pack("<IIIIIII", 0, 28, 0, 0, 0, 1, 0) + starts)


def link(target: int, then: int, *, top: int = 0, imported: bool = False) -> int:
    return target | top << 36 | (then // 4) << 51 | imported << 63


@pytest.mark.parametrize(("form", "base"), [(2, BASE), (6, 0)])
def test_chained_pointers_are_followed_from_word_to_word(read: Read, form: int, base: int) -> None:
    words = {8: link(base + 0x1000, 16), 24: link(5, 8, imported=True), 32: link(base + 0x1010, 0, top=0xA5)}
    image = read(chained(words, form, start=8))
    assert image.rebases == (DATA + 8, DATA + 32)
    values = [int.from_bytes(image.bytes_at(DATA + at, 8), "little") for at in (8, 32)]
    assert values == [BASE + 0x1000, 0xA5 << 56 | BASE + 0x1010]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (chained({}, form=1), "chained pointers of format 1; 2 and 6 are read"),
        (chained({56: link(0, 8)}, start=56), "a chain leaves page 0 of __DATA at 0x40"),
        (chained({0: link(0, 16)}, page=16), "a chain leaves page 0 of __DATA at 0x10"),
        (chained({}, start=0x8001), "several chains in a page"),
    ],
)
def test_wrong_chains_are_image_errors(read: Read, made: File, said: str) -> None:
    assert said in refusal(read, made).detail
