"""Zeroed memory of assembly programs: `.bss` has one place, whoever assembles."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.load_addresses import ZEROED_BASE
from testbed.build.recipes import RECIPES
from testbed.program.model import program_from_text
from testbed.words.errors import BuildError

PAIRS = [
    ("x86_64", "keystone", "clang-asm"),
    ("arm64", "keystone", "clang-asm"),
    ("arm32", "keystone", "clang-asm"),
    ("arm32", "keystone-thumb", "clang-asm-thumb"),
]


@pytest.mark.parametrize(("arch", "ours", "clangs"), PAIRS)
def test_both_ways_to_build_map_the_same_zeroed_memory(arch: str, ours: str, clangs: str) -> None:
    found = []
    for recipe in (ours, clangs):
        image = build(PROGRAMS["other_stack"], ARCHES[arch], RECIPES[recipe]).image
        (segment,) = (s for s in image.segments if s.address == ZEROED_BASE)
        assert (segment.readable, segment.writable, segment.executable) == (True, True, False)
        assert not any(segment.data)
        found.append(segment.size)
    assert found == [0x2040, 0x2040]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stack:", "a label of .bss is a new one that begins with .L"),
        (".Lroom:\n.Lroom:", "a label of .bss is a new one that begins with .L"),
        (".quad 1", "in .bss there are labels and .space with a size, not .quad 1"),
        (".space 16, 1", "in .bss there are labels and .space with a size"),
        ("nop", "an instruction in .bss"),
    ],
)
def test_what_cannot_stand_in_zeroed_memory_is_an_error_with_its_line(line: str, said: str) -> None:
    text = f"_start:\nnop\n.bss\n{line}\n"
    program = program_from_text("zeroed", ARCHES["arm64"], text)
    with pytest.raises(BuildError, match=r"zeroed.arm64.S:\d+:1: ") as caught:
        build(program, ARCHES["arm64"], RECIPES["keystone"])
    assert said in str(caught.value)


def test_code_goes_on_after_zeroed_memory() -> None:
    text = "_start:\nldr x0, .Lp\n.bss\n.Lroom:\n.space 8\n.text\nbrk #1\n.p2align 3\n.Lp:\n.quad .Lroom\n"
    image = build(program_from_text("zeroed", ARCHES["arm64"], text), ARCHES["arm64"], RECIPES["keystone"]).image
    assert image.sections[".text"].data[-8:] == ZEROED_BASE.to_bytes(8, "little")
