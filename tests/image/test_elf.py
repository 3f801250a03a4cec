"""ELF files, and the instruction sets that their mapping symbols tell."""

import itertools
import subprocess
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Isa
from testbed.image import Image, LoadedImage, Section, describe, image_covering, linked_image, read_image
from testbed.image.elf import _indexed, attributes_say, instruction_sets
from testbed.words.budget import Account
from testbed.words.errors import BudgetExceeded, ImageError
from tests import corpus
from tests.corpus import tool

TARGETS = [("x86_64", "clang-O2"), ("arm64", "clang-O0"), ("arm32", "clang-O2"), ("arm32", "clang-thumb-O2")]


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_what_a_file_says(arch: str, recipe: str) -> None:
    image = read_image(corpus.built("recursion", arch, recipe).path)
    assert image.arch is ARCHES[arch]
    start, main = image.symbol_named("_start"), image.symbol_named("main")
    assert start.address == image.entry
    assert image.function_at(main.address) is main
    assert image.function_at(main.address + main.size - 1) is main
    assert image.function_at(main.address + main.size) is not main
    assert image.covers(image.entry)
    assert not image.covers(0x10)
    assert image.isa_at(main.address).name in recipe or image.isa_at(main.address) is image.arch.isas[0]
    assert all(symbol.address % 2 == 0 for symbol in image.symbols if symbol.is_function and arch == "arm32")
    assert not any(symbol.name.startswith("$") for symbol in image.symbols)


def test_mapping_symbols_tell_the_instruction_sets_apart() -> None:
    built = corpus.built("interworking", "arm32", "clang-asm")
    names = {built.image.isa_at(s.address).name for s in built.image.symbols if s.is_function}
    assert names == {"a32", "thumb"}


def test_a_load_bias_moves_every_address() -> None:
    image = read_image(corpus.built("recursion", "x86_64", "clang-O2").path)
    loaded = (LoadedImage(image, 0x1000_0000),)
    main = image.symbol_named("main")
    assert describe(loaded, main.address + 0x1000_0004) == "main+0x4"
    assert image_covering(loaded, main.address) is None
    assert describe(loaded, main.address) == f"{main.address:#x}"
    assert loaded[0].entry == image.entry + 0x1000_0000


def test_a_return_address_behind_its_function_belongs_to_the_call() -> None:
    image = read_image(corpus.built("recursion", "arm64", "clang-O0").path)
    loaded = (LoadedImage(image),)
    functions = sorted((s for s in image.symbols if s.is_function), key=lambda s: s.address)
    first, second = next((a, b) for a, b in itertools.pairwise(functions) if a.address + a.size == b.address)
    assert describe(loaded, second.address) == second.name
    assert describe(loaded, second.address, caller=True) == f"{first.name}+{first.size:#x}"


def test_addresses_wrap_at_the_architectures_word() -> None:
    """A 32-bit library in the upper half of the address space, its bias told as a number from 0 to 2**32."""
    image = read_image(corpus.built("recursion", "arm32", "clang-O2").path)
    main = image.symbol_named("main")
    assert main is not None
    for bias in (0xB000_0000, 0xB000_0000 - (1 << 32)):
        loaded = LoadedImage(image, bias)
        assert loaded.covers(main.address + 0xB000_0000)
        assert not loaded.covers(main.address)
        assert describe((loaded,), main.address + 0xB000_0004) == "main+0x4"
    moved_down = LoadedImage(image, (1 << 32) - 0x1000)
    assert describe((moved_down,), main.address - 0x1000) == "main"


def program_headers(content: bytes) -> tuple[int, int]:
    """The offset of the first ELF64 program header, and how many there are."""
    return int.from_bytes(content[32:40], "little"), int.from_bytes(content[56:58], "little")


def test_a_segment_without_bytes_in_the_file_may_lie_past_its_end(tmp_path: Path) -> None:
    """GNU ld writes such an offset for a `.bss` in a file without `.data`."""
    content = bytearray(corpus.built("recursion", "arm64", "clang-O0").path.read_bytes())
    start, count = program_headers(content)
    changed = 0
    for at in range(start, start + 56 * count, 56):
        if content[at : at + 4] == (1).to_bytes(4, "little") and content[at + 4] & 2:  # a writable PT_LOAD
            content[at + 8 : at + 16] = (len(content) + 0x10_000).to_bytes(8, "little")
            content[at + 32 : at + 40] = bytes(8)
            changed += 1
    if not changed:  # this program has none: its note segment becomes one
        at = start + 56 * (count - 1)
        header = (1).to_bytes(4, "little") + (6).to_bytes(4, "little") + (len(content) + 0x1000).to_bytes(8, "little")
        content[at : at + 56] = (
            header + (0x90_0000).to_bytes(8, "little") * 2 + bytes(8) + (64).to_bytes(8, "little") * 2
        )
    image = read(tmp_path / "bss.elf", bytes(content))
    assert isinstance(image, Image)
    assert any(segment.size and not segment.data for segment in image.segments)


def test_an_object_file_is_told_from_a_linked_one(tmp_path: Path) -> None:
    content = bytearray(corpus.built("recursion", "x86_64", "clang-O2").path.read_bytes())
    content[16:18] = (1).to_bytes(2, "little")  # ET_REL
    image = read(tmp_path / "x.o", bytes(content))
    assert isinstance(image, Image) and image.relocatable
    with pytest.raises(ImageError, match="link it first"):
        linked_image(tmp_path / "x.o")
    assert not linked_image(corpus.built("recursion", "x86_64", "clang-O2").path).relocatable


@pytest.mark.parametrize(("flags", "executable"), [(6, False), (7, True)])
def test_a_file_says_whether_its_stack_is_executable(tmp_path: Path, flags: int, executable: bool) -> None:
    content = bytearray(corpus.built("recursion", "x86_64", "clang-O2").path.read_bytes())
    start, count = program_headers(content)
    for at in range(start, start + 56 * count, 56):
        if content[at : at + 4] == (0x6474_E551).to_bytes(4, "little"):  # PT_GNU_STACK
            content[at + 4 : at + 8] = flags.to_bytes(4, "little")
    image = read(tmp_path / "x.elf", bytes(content))
    assert isinstance(image, Image) and image.executable_stack is executable


def read(path: Path, content: bytes) -> Image | ImageError | BudgetExceeded:
    path.write_bytes(content)
    try:
        return read_image(path)
    except (ImageError, BudgetExceeded) as error:
        named = error
    assert str(path) in str(named)
    return named


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_every_truncation_is_an_image_error_or_an_image(tmp_path: Path, arch: str, recipe: str) -> None:
    content = corpus.built("recursion", arch, recipe).path.read_bytes()
    results = [read(tmp_path / "cut.elf", content[:size]) for size in range(0, len(content), 97)]
    assert all(isinstance(result, ImageError) for result in results[:10])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n", "not an ELF file"),
        (b"\x7fELF", "corrupt ELF structure"),
    ],
)
def test_what_is_no_elf_file_is_said_so(tmp_path: Path, content: bytes, message: str) -> None:
    error = read(tmp_path / "x.elf", content)
    assert isinstance(error, ImageError)
    assert message in str(error)


def test_a_program_header_beyond_all_files_is_told_in_words(tmp_path: Path) -> None:
    content = bytearray(corpus.built("recursion", "x86_64", "clang-O2").path.read_bytes())
    content[32:40] = b"\xff" * 8  # e_phoff
    assert "an offset or a size is larger than any file" in str(read(tmp_path / "far.elf", bytes(content)))


def test_a_machine_of_no_architecture_here_is_named(tmp_path: Path) -> None:
    content = bytearray(corpus.built("recursion", "x86_64", "clang-O2").path.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # EM_RISCV
    error = read(tmp_path / "riscv.elf", bytes(content))
    assert isinstance(error, ImageError)
    assert "EM_RISCV" in str(error)


def test_a_missing_file_is_an_image_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="No such file"):
        read_image(tmp_path / "nowhere.elf")


# Which instruction set code is in, where mapping symbols were stripped: compilers' files, and evidence one by one.


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
    tool(f"{TRIPLE}-gcc", "gcc-arm-linux-gnueabihf")
    written, path = folder / "library.c", folder / "library.so"
    written.write_text(source)
    common = ("-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all")
    subprocess.run([f"{TRIPLE}-gcc", *common, *flags, str(written), "-o", str(path)], check=True)
    subprocess.run([f"{TRIPLE}-strip", str(path)], check=True)
    return read_image(path)


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
    between = range(first.address, last.address + last.size, 2)  # the hidden function lies there, too
    assert {image.isa_at(address) for address in between} == {isa}
    assert image.isa_at(first.address - 8) is A32  # the procedure linkage table is A32 code in both


def test_a_static_function_of_a_stripped_library_is_read_by_its_words(tmp_path: Path) -> None:
    """No symbol and no address with the bit tells of it: the exception index does, without the bit."""
    source = SOURCE.replace("((noinline)) static", '((noinline, target("arm"))) static')
    image = library(tmp_path, "-mthumb", "-funwind-tables", source=source)
    exported = {symbol.address for symbol in image.symbols if symbol.is_function}
    others = {value & ~1 for value in _indexed(image.sections)} - exported
    assert exported and {image.isa_at(address) for address in exported} == {THUMB}
    hidden = min(others - {max(others)})  # the last entry is for what lies behind all code
    assert image.isa_at(hidden) is A32


def test_a_microcontrollers_file_has_thumb_code_only(tmp_path: Path) -> None:
    image = library(tmp_path, "-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=soft")
    assert {image.isa_at(s.address) for s in image.segments if s.executable} == {THUMB}


def text(address: int, size: int) -> dict[str, Section]:
    return {f".text.{address:x}": Section(f".text.{address:x}", address, address, bytes(size))}


def called_by_the_loader(*addresses: int) -> dict[str, Section]:
    words = b"".join(value.to_bytes(4, "little") for value in addresses)
    return {".init_array": Section(".init_array", 0x300, 0x300, words + b"\x01")}


def excepted(*addresses: int) -> dict[str, Section]:
    """An exception index of functions."""
    entries = b"".join(
        (address - (0x8000 + 8 * i) & 0x7FFF_FFFF).to_bytes(4, "little") + (1).to_bytes(4, "little")
        for i, address in enumerate(addresses)
    )
    return {".ARM.exidx": Section(".ARM.exidx", 0x8000, 0x8000, entries)}


# marks, functions, sections, the entry point; the instruction set from each address on
EVIDENCE: list[tuple[dict[int, Isa], list[int], dict[str, Section], int, dict[int, Isa]]] = [
    # What a loader calls is read by its bit: a library's static functions lie behind it, below the first function that
    # is exported, and in front of it.
    (
        {},
        [0x181],
        text(0x100, 0x100) | called_by_the_loader(0x121, 0, 0xFFFFFFFF, 0x40000001),
        0,
        {0x100: THUMB, 0x120: THUMB, 0x180: THUMB},
    ),
    # Assembly often has no `.thumb_func`; a section with a mapping symbol has one wherever the set changes.
    (
        {0x100: THUMB},
        [0x110, 0x200, 0x221],
        text(0x100, 0x100) | text(0x200, 0x100),
        0x200,
        {0x100: THUMB, 0x200: A32, 0x220: THUMB},
    ),
    # a function with the bit is Thumb behind an A32 mark; a mark at the same address says more
    ({0x100: A32}, [0x121], text(0x100, 0x100), 0x100, {0x100: A32, 0x120: THUMB}),
    ({0x100: A32}, [0x101], text(0x100, 0x100), 0, {0x100: A32}),
    # the entry point and the exception index count where they have the bit
    ({}, [], text(0x100, 0x200) | excepted(0x100, 0x181), 0x201, {0x100: THUMB, 0x180: THUMB, 0x200: THUMB}),
    # what it names is told by its words where nothing else does: in A32 more than half of them say "always"
    (
        {},
        [],
        {".text": Section(".text", 0x100, 0x100, b"\0\0\0\xe1" * 4 + b"\0\0\0\x12" * 12)} | excepted(0x100, 0x110),
        0x121,
        {0x100: A32, 0x110: THUMB, 0x120: THUMB},
    ),
    # each section by its own evidence
    (
        {},
        [0x120, 0x221],
        text(0x100, 0x80) | text(0x200, 0x100),
        0,
        {0x100: A32, 0x120: A32, 0x200: THUMB, 0x220: THUMB},
    ),
]


@pytest.mark.parametrize(("marks", "functions", "sections", "entry", "found"), EVIDENCE)
def test_evidence_of_instruction_sets_is_weighed(
    marks: dict[int, Isa], functions: list[int], sections: dict[str, Section], entry: int, found: dict[int, Isa]
) -> None:
    assert dict(instruction_sets(ARM32, marks, functions, sections, entry)) == found


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
