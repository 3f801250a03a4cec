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

ARM64 = ARCHES["arm64"]


def made(recipe: str) -> Image:
    return build(PROGRAMS["pac_ret"], ARM64, RECIPES[recipe]).image


@pytest.mark.parametrize("recipe", ["keystone", "clang-asm"])
def test_the_key_is_in_the_augmentation(recipe: str) -> None:
    content = made(recipe).sections[".eh_frame"].data
    assert (content.count(b"zR\0"), content.count(b"zRB\0")) == (1, 1)


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
