"""Doubles that live across calls: what compilers write about the registers d8 to d15, beside what really is there."""

import subprocess
from pathlib import Path

import pytest

from testbed.build.compile import find_zig
from testbed.contract.rows import Offset
from testbed.image import read_image
from testbed.runs.by_name import named_run
from tests.checks.watched_tables import linted
from unwinders import UNWINDERS

# `leaf` saves d8, d9 and d15 in two pushes and changes them: a table that does not know it hands out their new values.
SOURCE = """\
// summary: a function that saves floating-point registers and changes them
// exit: 42
volatile int three = 3;

__attribute__((noinline)) int leaf(double x) {
    %s
    return (int)x;
}

int main(void) { return leaf(2.0 * three) * 7; }
"""
CHANGED = {
    "arm32": 'asm volatile("vmov.f64 d8, %P0; vmov.f64 d9, %P0; vmov.f64 d15, %P0" : : "w"(x) : "d8", "d9", "d15");',
    "arm64": 'asm volatile("fmov d8, %d0; fmov d9, %d0; fmov d15, %d0" : : "w"(x) : "d8", "d9", "d15");',
}
CASES = [
    ("arm32", "gcc-O2", "debug_frame"),
    ("arm32", "gcc-thumb-O2", "debug_frame"),
    ("arm32", "gcc-O0-fp", "debug_frame"),
    ("arm32", "clang-O2", "debug_frame"),
    ("arm64", "gcc-O2", "eh_frame"),
    ("arm64", "clang-O2", "eh_frame"),
]


@pytest.mark.parametrize(("arch", "recipe", "chosen"), CASES)
def test_saved_doubles_are_found(arch: str, recipe: str, chosen: str, tmp_path: Path) -> None:
    source = tmp_path / "saves_doubles.c"
    source.write_text(SOURCE % CHANGED[arch])
    run = named_run({}, str(source), arch, recipe, seed=1, budget=100_000, fresh=False)
    assert not run.failure
    unwinder = UNWINDERS[chosen]
    table = unwinder.rows(run.built.image)
    saved = {name for row in table for name, rule in row.registers.items() if isinstance(rule, Offset)}
    assert {"d8", "d9", "d15"} <= saved
    advised = {thing.what for finding in linted(run, chosen).findings for thing in finding.things}
    # LLVM writes no row for an epilogue on arm32: there the CFA is wrong, and with the true one no register is.
    assert advised <= ({"CFA"} if (arch, recipe) == ("arm32", "clang-O2") else set()), "the table is right"
    function = next(symbol for symbol in run.built.image.symbols if symbol.name == "leaf")
    inside = [k for k in range(len(run)) if 0 <= int(run.trace.pc[k]) - function.address < function.size]
    compared = 0
    for step in inside:
        caller, said = run.truth(step).frames[1], unwinder.unwind(run[step]).frames
        if len(said) > 1 and said[0].cfa == run.truth(step).frames[0].cfa:
            compared += 1
            for name in ("d8", "d9", "d15"):
                assert said[1].registers[name] == caller.registers[name], f"{name} at step {step}"
    assert compared > 5


# The table of a signed return address that clang writes for 32-bit Arm, read by our reader.


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
