"""Mach-O files, and what their loader binds and rebases."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.image import LoadedImage, describe, read_image
from testbed.trace import Snapshot
from testbed.words.errors import ImageError
from tests import corpus
from tests.corpus import tool
from tests.image.macho_files import (
    BASE,
    CHAINED,
    DATA,
    DYLD_INFO,
    FUNCTION_STARTS,
    LIBRARY,
    MAIN,
    UNIXTHREAD,
    X86_64_CPU,
    File,
    Read,
    program,
    refusal,
    universal,
)

TARGETS = [("x86_64", "macho-O2-nofp"), ("x86_64", "macho-O0"), ("arm64", "macho-O2"), ("arm64", "macho-O2-dwarf")]
DEFINED, EXTERNAL, STAB = 0x0E, 0x01, 0x2E  # the last is N_BNSYM: its low bits look like a section's symbol


# What a built file says


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_a_built_file_is_read_with_its_functions_and_segments(arch: str, recipe: str) -> None:
    image = read_image(corpus.built("function_pointers", arch, recipe).path)
    assert image.arch is ARCHES[arch]
    assert (image.base, image.position_independent, image.imports) == (BASE, True, ())
    assert {"__TEXT,__text", "__TEXT,__unwind_info", "__TEXT,__eh_frame", "__DATA,__data"} <= set(image.sections)
    names = {symbol.name for symbol in image.symbols if symbol.is_function}
    assert {"_start", "main", "apply", "twice"} <= names
    start, main = image.symbol_named("_start"), image.symbol_named("main")
    assert image.entry == start.address
    assert image.function_at(main.address + main.size - 1) is main
    assert image.function_at(main.address + main.size) is not main
    assert image.covers(image.entry) and not image.covers(0x10), "__PAGEZERO is no memory"
    header = image.symbol_named("_mh_execute_header")
    assert header is not None and not header.is_function


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_the_symbol_table_equals_llvm_nm(arch: str, recipe: str) -> None:
    """An independent reader: name, address, and whether it is code."""
    path = corpus.built("function_pointers", arch, recipe).path
    listed = subprocess.run([tool("llvm-nm", "llvm"), path], capture_output=True, text=True, check=True).stdout
    theirs = {
        (name.removeprefix("_"), int(address, 16))
        for address, kind, name in re.findall(r"^([0-9a-f]{16}) (\w) (.*)$", listed, re.M)
        if kind != "U"
    }
    assert len(theirs) > 10
    assert {(symbol.name, symbol.address) for symbol in read_image(path).symbols} == theirs


# What a file made by hand says


def test_a_symbol_loses_one_underscore_and_debugger_entries_are_no_symbols(read: Read) -> None:
    code = BASE + 0x1000
    made = program().symbols(
        ("_main", DEFINED | EXTERNAL, 1, code),
        ("__start", DEFINED, 1, code + 8),
        ("bare", DEFINED, 1, code + 16),
        ("_main.c", STAB, 1, code),
        ("_absolute", 0x02, 0, 7),
        ("_variable", DEFINED, 2, DATA + 8),
        ("_puts", EXTERNAL, 0, 0),
        ("dyld_stub_binder", EXTERNAL, 0, 0),
    )
    image = read(made)
    assert [(s.name, s.address, s.size, s.is_function) for s in image.symbols] == [
        ("main", code, 8, True),
        ("_start", code + 8, 8, True),
        ("bare", code + 16, 16, True),
        ("variable", DATA + 8, 56, False),
    ]
    assert image.imports == ("puts",), "the lazy binder is the loader's own"


def test_of_two_names_for_one_function_the_external_one_is_found(read: Read) -> None:
    code = BASE + 0x1000
    image = read(program().symbols(("_api", DEFINED | EXTERNAL, 1, code), ("_local", DEFINED, 1, code)))
    found = image.function_at(code + 31)
    assert found is not None and found.name == "api"


def test_function_starts_end_a_symbol_whose_neighbour_was_stripped(read: Read) -> None:
    code = BASE + 0x1000
    made = program().symbols(("_kept", DEFINED | EXTERNAL, 1, code))
    made.linkedit(FUNCTION_STARTS, b"\x80\x20\x10\x00\x99")
    image = read(made)
    kept = image.function_at(code + 15)
    assert kept is not None and kept.size == 16
    assert image.function_at(code + 16) is None, "better no name than the wrong one"
    loaded = (LoadedImage(image, 0x8000),)
    assert describe(loaded, code + 0x8000 + 4) == "kept+0x4"
    assert describe(loaded, code + 0x8000 + 16) == "made.macho+0x1010"


def test_the_entry_is_an_offset_in_the_file_or_a_register(read: Read) -> None:
    assert read(program().add(MAIN, struct.pack("<QQ", 0x1008, 0))).entry == BASE + 0x1008
    assert read(program().add(MAIN, struct.pack("<QQ", 0x1028, 0))).entry == DATA + 8, "counted in its own segment"
    arm64 = struct.pack("<II", 6, 68) + struct.pack("<34Q", *range(100, 134))
    assert read(program().add(UNIXTHREAD, arm64)).entry == 132
    x86_64 = struct.pack("<II", 4, 42) + struct.pack("<21Q", *range(100, 121))
    assert read(program(cpu=X86_64_CPU).add(UNIXTHREAD, x86_64)).entry == 116
    assert read(program(kind=LIBRARY)).entry == 0


# Universal files


@pytest.mark.parametrize("wide", [False, True])
def test_of_a_universal_file_the_wanted_part_is_read(tmp_path: Path, wide: bool) -> None:
    parts = {arch: corpus.built("function_pointers", arch, recipe).path.read_bytes() for arch, recipe in TARGETS}
    path = tmp_path / "both"
    path.write_bytes(universal((7, b"32-bit"), (X86_64_CPU, parts["x86_64"]), (0x0100_000C, parts["arm64"]), wide=wide))
    for arch, part in parts.items():
        alone = tmp_path / arch
        alone.write_bytes(part)
        image = read_image(path, arch=ARCHES[arch])
        assert (image.arch, image.symbols) == (ARCHES[arch], read_image(alone).symbols)
        registers = dict.fromkeys(ARCHES[arch].by_name, 0)
        foreign = Snapshot.from_parts(arch=arch, registers=registers, memory=(), images=[(path, 0)])
        assert foreign.images[0].image.arch is image.arch
    with pytest.raises(ImageError, match="with x86_64, arm64: say which"):
        read_image(path)
    with pytest.raises(ImageError, match="with x86_64, arm64, not arm32"):
        read_image(path, arch=ARCHES["arm32"])


def test_a_universal_file_of_one_known_part_needs_no_choice(read: Read) -> None:
    assert read(universal((7, b"x"), (X86_64_CPU, program(cpu=X86_64_CPU).bytes()))).arch is ARCHES["x86_64"]


def test_an_error_in_a_part_is_told_by_its_place_in_the_whole_file(read: Read) -> None:
    assert refusal(read, universal((X86_64_CPU, program(kind=9).bytes()))).offset == 0x4000 + 12


def changed(made: File, command: int, at: int, value: bytes) -> bytes:
    """``value`` at offset ``at`` of the first load command of a kind."""
    content = bytearray(made.bytes())
    here = 32
    while int.from_bytes(content[here : here + 4], "little") != command:
        here += int.from_bytes(content[here + 4 : here + 8], "little")
    content[here + at : here + at + len(value)] = value
    return bytes(content)


# Damage


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_every_truncation_is_an_image_error(read: Read, arch: str, recipe: str) -> None:
    content = corpus.built("function_pointers", arch, recipe).path.read_bytes()
    for size in range(0, len(content) - 1, 97):
        refusal(read, content[:size])


# Pointers that dyld slides: rebase opcodes and chained pointers.


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


# What is wrong with a file

WITH_SYMBOLS = program().symbols(("_main", DEFINED, 1, BASE + 0x1000))

# a file, what is said of it
REFUSED: list[tuple[File | bytes, str]] = [
    (b"\xca\xfe\xba\xbe\x00\x00\x00\x41", "65 parts"),  # a Java class has its version there
    (b"\xca\xfe\xba\xbe\x00\x00\x00\x02", "reaches past the end"),
    (universal((7, b"x")), "no architecture that is known here: say which"),
    (universal((X86_64_CPU, b"x" * 40)), "no Mach-O file"),
    (b"\xce\xfa\xed\xfe" + bytes(64), "a 32-bit Mach-O file"),
    (b"\xfe\xed\xfa\xcf" + bytes(64), "a big-endian 64-bit Mach-O file"),
    (b"\xcf\xfa\xed\xfe", "the header (0x20 bytes) reaches past the end"),
    (b"#!/bin/sh\n", "not an ELF file (no 7f 45 4c 46), nor a Mach-O file"),
    (b"", "not an ELF file"),
    (File(cpu=12).bytes(), "cpu type 0xc is none of x86_64, arm64"),
    (File(kind=1).bytes(), "file type 1 is none of executable (2)"),
    (File().bytes(), "no segment maps the header"),
    # load commands
    (program().add(MAIN, struct.pack("<QQ", 0x9_0000, 0)), "which no segment maps"),
    (program().add(UNIXTHREAD, struct.pack("<II", 1, 0)), "a thread state of flavor 1, not 6"),
    (changed(WITH_SYMBOLS, 2, 12, b"\xff\xff\xff\x00"), "the symbol table (0xffffff0 bytes) reaches past the end"),
    (changed(WITH_SYMBOLS, 2, 20, b"\x01"), "has no end"),
    (changed(WITH_SYMBOLS, 2, 4, b"\x07"), "load command 3 (0x2) has the size 0x7"),
    (changed(WITH_SYMBOLS, 2, 4, b"\x04"), "load command 3 (0x2) has the size 0x4"),
    (program().symbols(("_main", DEFINED, 9, 0)), "symbol main is in section 9 of 3"),
    (changed(program(), 0x19, 24, b"\xff" * 8), "segment __PAGEZERO of"),
    (program().segment("__BIG", 1 << 40, 1 << 40, 0, 0, 3), "segment __BIG claims 0x10000000000 bytes"),
    (program().segment("__TWICE", 1 << 40, 0x2000, 0, 0x1000, 3), "its segments have"),
    (program().segment("__OUT", 1 << 40, 0x2000, 0x1000, 0x2000, 3), "its segments have"),
    (
        program().segment("__S", 1 << 40, 8, 0, 0, 3, [("__s", 1 << 40, 8, 1 << 30, 0)]),
        "section __S,__s (0x8 bytes)",
    ),
    (program().segment("__S", 1 << 40, 8, 0, 0, 3, [("__s", (1 << 64) - 4, 8, 0, 0)]), "leaves the address space"),
    # rebase opcodes
    (rebasing(bytes.fromhex("90")), "there is no rebase opcode 0x90"),
    (rebasing(bytes.fromhex("12")), "a rebase of type 2"),
    (rebasing(bytes.fromhex("11 23 00")), "a rebase in segment 3 of 3"),
    (rebasing(bytes.fromhex("11 51")), "of no segment"),
    (rebasing(bytes.fromhex("11 22 39 51")), "a rebase at 0x39 of __DATA"),
    (rebasing(bytes.fromhex("11 22 80")), "reaches past the end"),
    (rebasing(bytes.fromhex("11 22" + " 80" * 11)), "more than 10 bytes"),
    # chains
    (chained({}, form=1), "chained pointers of format 1; 2 and 6 are read"),
    (chained({56: link(0, 8)}, start=56), "a chain leaves page 0 of __DATA at 0x40"),
    (chained({0: link(0, 16)}, page=16), "a chain leaves page 0 of __DATA at 0x10"),
    (chained({}, start=0x8001), "several chains in a page"),
]


@pytest.mark.whole
@pytest.mark.parametrize(("content", "said"), REFUSED)
def test_what_is_wrong_with_a_file_is_said(read: Read, content: File | bytes, said: str) -> None:
    assert said in refusal(read, content).detail
