"""The table of a signed return address that clang writes for 32-bit Arm, read by our reader."""

from __future__ import annotations

import subprocess
from pathlib import Path

from testbed.build.compile import find_zig
from testbed.contract.rows import Offset
from testbed.image import read_image
from unwinders import UNWINDERS


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
    row = rows(image).at(symbol.address & ~1)
    # The push, from below: other registers, the code, lr.
    places = {rule.offset for rule in row.registers.values() if isinstance(rule, Offset)}
    assert row.registers["lr"] == Offset(-4)
    assert -8 not in places, "the word below the return address is the code, and no register's"
    assert min(places) < -8
