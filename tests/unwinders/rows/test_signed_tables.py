"""Tables of signed return addresses, written by us, by clang, and by clang for 32-bit Arm, read by our readers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.compile import find_zig
from testbed.build.recipes import RECIPES
from testbed.contract.rows import AtCfa
from testbed.image import Image, read_image
from unwinders import UNWINDERS
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_functions, read_header

ARM64 = ARCHES["arm64"]


def made(recipe: str) -> Image:
    return build(PROGRAMS["pac_ret"], ARM64, RECIPES[recipe]).image


def signed(image: Image, strategy: str) -> list[tuple[int, int]]:
    """Where a table says that the return address is signed, neighbours joined."""
    rows = UNWINDERS[strategy].rows
    assert rows is not None
    spans: list[tuple[int, int]] = []
    for row in rows(image):
        if row.is_signed:
            joins = spans and spans[-1][1] == row.start
            spans[-1:] = [(spans[-1][0], row.end)] if joins else [*spans[-1:], (row.start, row.end)]
    return spans


@pytest.mark.parametrize(("recipe", "strategy"), [("keystone", "sframe"), ("clang-asm", "eh_frame")])
def test_all_formats_and_writers_say_the_same_of_signatures(recipe: str, strategy: str) -> None:
    here = signed(made("keystone"), "eh_frame")
    assert len(here) == 5  # main, work, leaf; choose up to its early return, and again behind it
    assert signed(made(recipe), strategy) == here


@pytest.mark.parametrize("recipe", ["keystone", "clang-asm"])
def test_the_key_is_in_the_augmentation(recipe: str) -> None:
    content = made(recipe).sections[".eh_frame"].data
    assert (content.count(b"zR\0"), content.count(b"zRB\0")) == (1, 1)


def test_our_sframe_names_the_key_of_each_function() -> None:
    image = made("keystone")
    section = image.sections[".sframe"]
    reader = Reader(".sframe", section.address, section.data)
    functions, _ = read_functions(reader, read_header(reader, ARM64), ARM64)
    keys = {image.function_at(function.start).name: function.key for function in functions}  # type: ignore[union-attr]
    assert keys == dict.fromkeys(("_start", "main", "leaf", "choose", "helper"), "A") | {"work": "B"}


def test_on_32_bit_arm_the_authentication_code_is_popped_as_a_word_of_its_own(tmp_path: Path) -> None:
    """Armv8.1-M: ``pac r12, lr, sp`` and ``push {..., r12, lr}``; EHABI's 0xb4 pops the code that r12 had."""
    (tmp_path / "f.c").write_text("int g(int); int f(int n) { return g(n) + n; }\n")
    flags = ("-target", "thumbv8.1m.main-none-eabi", "-march=armv8.1-m.main+pacbti", "-mbranch-protection=pac-ret")
    zig = find_zig()
    for arguments in (
        ("clang", *flags, "-O1", "-funwind-tables", "-c", "f.c", "-o", "f.o"),
        ("ld.lld", "-m", "armelf_linux_eabi", "-static", "-e", "f", "--defsym=g=0", "f.o", "-o", "f.elf"),
    ):
        subprocess.run([zig, *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    image = read_image(tmp_path / "f.elf")
    rows = UNWINDERS["ehabi"].rows
    symbol = image.symbol_named("f")
    assert rows is not None and symbol is not None
    row = rows(image).at(symbol.address & ~1)
    assert row is not None
    # The push, from below: other registers, the code, lr.
    places = {rule.offset for rule in row.registers.values() if isinstance(rule, AtCfa)}
    assert row.registers["lr"] == AtCfa(-4)
    assert -8 not in places, "the word below the return address is the code, and no register's"
    assert min(places) < -8
