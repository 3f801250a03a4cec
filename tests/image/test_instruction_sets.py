"""Which instruction set code is in, where mapping symbols were stripped: compilers' files, and evidence one by one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.image import Image, Section, read_image
from testbed.image.elf import attributes_say, instruction_sets
from testbed.words.budget import Account

ARM32 = ARCHES["arm32"]
A32, THUMB = ARM32.isas
ACCOUNT = Account("x", 0)
TRIPLE = "arm-linux-gnueabihf"
SOURCE = """
int outside(int);
__attribute__((noinline)) int first(int x) { return outside(x) + 1; }
__attribute__((noinline)) static int hidden(int x) { return first(x) * 2; }
int last(int x) { return hidden(x) + hidden(x + 1); }
"""


def library(folder: Path, *flags: str, source: str = SOURCE) -> Image:
    """A shared library by GCC, without mapping symbols and local symbols."""
    if shutil.which(f"{TRIPLE}-gcc") is None:
        pytest.skip("gcc-arm-linux-gnueabihf is not installed")
    written, path = folder / "library.c", folder / "library.so"
    written.write_text(source)
    common = ("-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all")
    subprocess.run([f"{TRIPLE}-gcc", *common, *flags, str(written), "-o", str(path)], check=True)
    subprocess.run([f"{TRIPLE}-strip", str(path)], check=True)
    return read_image(path)


def test_what_a_loader_calls_is_read_by_its_bit() -> None:
    """A library's static functions lie behind it, and below the first function that is exported."""
    words = b"".join(value.to_bytes(4, "little") for value in (0x121, 0, 0xFFFFFFFF, 0x40000001))
    called = {".init_array": Section(".init_array", 0x300, 0x300, words + b"\x01")}
    found = dict(instruction_sets(ARM32, {}, [0x181], text(0x100, 0x100) | called, 0))
    assert found == {0x120: THUMB, 0x180: THUMB}


def test_a_stripped_librarys_static_functions_in_front_are_read_by_what_the_loader_calls(tmp_path: Path) -> None:
    """Nothing that is exported lies below them, and they have no entry in the exception index."""
    early = "__attribute__((constructor)) static void early(void) { outside(1); }\n"
    early += "__attribute__((noinline)) static int hidden(int x) { return outside(x) * 2; }\n"
    source = f"int outside(int);\n{early}int last(int x) {{ return hidden(x) + hidden(x + 1); }}\n"
    image = library(tmp_path, "-mthumb", "-fno-asynchronous-unwind-tables", "-fno-toplevel-reorder", source=source)
    last = image.symbol_named("last")
    begin = next(s.address for s in image.sections.values() if s.name == ".text")
    assert last is not None and last.address - begin >= 16
    assert {image.isa_at(address) for address in range(begin, last.address, 2)} == {THUMB}


@pytest.mark.parametrize(("flags", "isa"), [(("-mthumb",), THUMB), (("-marm",), A32)])
def test_a_stripped_library_is_read_by_its_function_symbols(
    tmp_path: Path, flags: tuple[str, ...], isa: object
) -> None:
    image = library(tmp_path, *flags)
    first, last = image.symbol_named("first"), image.symbol_named("last")
    assert first is not None and last is not None
    between = range(first.address, last.address + last.size, 2)  # the hidden function lies there, too
    assert {image.isa_at(address) for address in between} == {isa}
    assert image.isa_at(first.address - 8) is A32  # the procedure linkage table is A32 code in both


def test_a_microcontrollers_file_has_thumb_code_only(tmp_path: Path) -> None:
    image = library(tmp_path, "-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=soft")
    assert {image.isa_at(s.address) for s in image.segments if s.executable} == {THUMB}


def text(address: int, size: int) -> dict[str, Section]:
    return {f".text.{address:x}": Section(f".text.{address:x}", address, address, bytes(size))}


def test_mapping_symbols_say_more_than_a_function_without_the_bit() -> None:
    """Assembly often has no ``.thumb_func``; a section with a mapping symbol has one wherever the set changes."""
    sections = text(0x100, 0x100) | text(0x200, 0x100)
    found = dict(instruction_sets(ARM32, {0x100: THUMB}, [0x110, 0x200, 0x221], sections, 0x200))
    assert found == {0x100: THUMB, 0x200: A32, 0x220: THUMB}


def test_a_function_with_the_bit_is_thumb_behind_an_a32_mark() -> None:
    found = dict(instruction_sets(ARM32, {0x100: A32}, [0x121], text(0x100, 0x100), 0x100))
    assert found == {0x100: A32, 0x120: THUMB}


def test_a_mark_at_the_same_address_says_more_than_a_function() -> None:
    assert dict(instruction_sets(ARM32, {0x100: A32}, [0x101], text(0x100, 0x100), 0)) == {0x100: A32}


def test_the_entry_point_and_the_exception_index_count_where_they_have_the_bit() -> None:
    entries = b"".join(
        (address - (0x8000 + 8 * i) & 0x7FFF_FFFF).to_bytes(4, "little") + (1).to_bytes(4, "little")
        for i, address in enumerate((0x100, 0x181))
    )
    sections = text(0x100, 0x200) | {".ARM.exidx": Section(".ARM.exidx", 0x8000, 0x8000, entries)}
    assert dict(instruction_sets(ARM32, {}, [], sections, 0x201)) == {0x180: THUMB, 0x200: THUMB}


@pytest.mark.parametrize("arch", [a for a in ARCHES.values() if len(a.isas) == 1], ids=str)
def test_where_there_is_one_instruction_set_nothing_is_weighed(arch: object) -> None:
    assert instruction_sets(arch, {}, [0x101], {}, 0x101) == ()  # type: ignore[arg-type]


def attributes(*values: bytes) -> dict[str, Section]:
    body = b"\x01" + (5 + sum(map(len, values))).to_bytes(4, "little") + b"".join(values)
    vendor = b"aeabi\0"
    data = b"A" + (4 + len(vendor) + len(body)).to_bytes(4, "little") + vendor + body
    return {".ARM.attributes": Section(".ARM.attributes", 0, 0, data)}


def test_build_attributes_are_read_past_names_and_unknown_tags() -> None:
    names, unknown = b"\x05cortex-m4\0", bytes([67]) + b"2.09\0" + bytes([34, 1])
    assert attributes_say(Path("x"), attributes(names, unknown, b"\x07M"), ARM32, ACCOUNT) is THUMB
    assert attributes_say(Path("x"), attributes(names, b"\x07A"), ARM32, ACCOUNT) is None
    assert attributes_say(Path("x"), {}, ARM32, ACCOUNT) is None


def test_damaged_build_attributes_say_nothing() -> None:
    whole = attributes(b"\x05cortex-m4\0", b"\x07M")[".ARM.attributes"].data
    for size in range(len(whole)):
        cut = {".ARM.attributes": Section(".ARM.attributes", 0, 0, whole[:size])}
        assert attributes_say(Path("x"), cut, ARM32, ACCOUNT) is None
