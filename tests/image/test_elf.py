"""Program files: what they say, and that corrupt ones give one typed error and nothing else."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.image import Image, LoadedImage, describe, image_covering, linked_image, read_elf
from testbed.words.errors import BudgetExceeded, ImageError

TARGETS = [("x86_64", "clang-O2"), ("arm64", "clang-O0"), ("arm32", "clang-O2"), ("arm32", "clang-thumb-O2")]


def file_of(arch: str, recipe: str, program: str = "recursion") -> Path:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).path


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_what_a_file_says(arch: str, recipe: str) -> None:
    image = read_elf(file_of(arch, recipe))
    assert image.arch is ARCHES[arch]
    start, main = image.symbol_named("_start"), image.symbol_named("main")
    assert start is not None and main is not None
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
    built = build(PROGRAMS["interworking"], ARCHES["arm32"], RECIPES["clang-asm"])
    names = {built.image.isa_at(s.address).name for s in built.image.symbols if s.is_function}
    assert names == {"a32", "thumb"}


def test_a_load_bias_moves_every_address() -> None:
    image = read_elf(file_of("x86_64", "clang-O2"))
    loaded = (LoadedImage(image, 0x1000_0000),)
    main = image.symbol_named("main")
    assert main is not None
    assert describe(loaded, main.address + 0x1000_0004) == "main+0x4"
    assert image_covering(loaded, main.address) is None
    assert describe(loaded, main.address) == f"{main.address:#x}"
    assert loaded[0].entry == image.entry + 0x1000_0000


def test_a_return_address_behind_its_function_belongs_to_the_call() -> None:
    image = read_elf(file_of("arm64", "clang-O0"))
    loaded = (LoadedImage(image),)
    functions = sorted((s for s in image.symbols if s.is_function), key=lambda s: s.address)
    first, second = next((a, b) for a, b in itertools.pairwise(functions) if a.address + a.size == b.address)
    assert describe(loaded, second.address) == second.name
    assert describe(loaded, second.address, caller=True) == f"{first.name}+{first.size:#x}"


def test_addresses_wrap_at_the_architectures_word() -> None:
    """A 32-bit library in the upper half of the address space, its bias told as a number from 0 to 2**32."""
    image = read_elf(file_of("arm32", "clang-O2"))
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
    content = bytearray(file_of("arm64", "clang-O0").read_bytes())
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
    content = bytearray(file_of("x86_64", "clang-O2").read_bytes())
    content[16:18] = (1).to_bytes(2, "little")  # ET_REL
    image = read(tmp_path / "x.o", bytes(content))
    assert isinstance(image, Image) and image.relocatable
    with pytest.raises(ImageError, match="link it first"):
        linked_image(tmp_path / "x.o")
    assert not linked_image(file_of("x86_64", "clang-O2")).relocatable


@pytest.mark.parametrize(("flags", "executable"), [(6, False), (7, True)])
def test_a_file_says_whether_its_stack_is_executable(tmp_path: Path, flags: int, executable: bool) -> None:
    content = bytearray(file_of("x86_64", "clang-O2").read_bytes())
    start, count = program_headers(content)
    for at in range(start, start + 56 * count, 56):
        if content[at : at + 4] == (0x6474_E551).to_bytes(4, "little"):  # PT_GNU_STACK
            content[at + 4 : at + 8] = flags.to_bytes(4, "little")
    image = read(tmp_path / "x.elf", bytes(content))
    assert isinstance(image, Image) and image.executable_stack is executable


def read(path: Path, content: bytes) -> Image | ImageError | BudgetExceeded:
    path.write_bytes(content)
    try:
        return read_elf(path)
    except (ImageError, BudgetExceeded) as error:
        named = error
    assert str(path) in str(named)
    return named


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_every_truncation_is_an_image_error_or_an_image(tmp_path: Path, arch: str, recipe: str) -> None:
    content = file_of(arch, recipe).read_bytes()
    results = [read(tmp_path / "cut.elf", content[:size]) for size in range(0, len(content), 97)]
    assert all(isinstance(result, ImageError) for result in results[:10])


@pytest.mark.parametrize(("arch", "recipe"), TARGETS)
def test_damaged_files_are_image_errors_or_images(tmp_path: Path, arch: str, recipe: str) -> None:
    """Seeded damage to the headers, where every byte counts; nothing but ImageError may come out."""
    content = file_of(arch, recipe).read_bytes()
    random = Random(7)
    section_headers = int.from_bytes(content[40:48] if ARCHES[arch].word == 8 else content[32:36], "little")
    errors = 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(random.randint(1, 4)):
            low, high = random.choice([(4, 256), (section_headers, len(content))])
            damaged[random.randrange(low, high)] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
        errors += not isinstance(read(tmp_path / "damaged.elf", bytes(damaged)), Image)
    assert errors > 10


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


def test_a_machine_of_no_architecture_here_is_named(tmp_path: Path) -> None:
    content = bytearray(file_of("x86_64", "clang-O2").read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # EM_RISCV
    error = read(tmp_path / "riscv.elf", bytes(content))
    assert isinstance(error, ImageError)
    assert "EM_RISCV" in str(error)


def test_a_missing_file_is_an_image_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="No such file"):
        read_elf(tmp_path / "nowhere.elf")
