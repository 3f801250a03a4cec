"""Data between instructions: keystone's way and clang's put the same bytes at the same addresses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.compile import assemble
from testbed.build.link import assemble_program
from testbed.image import Image, read_elf
from testbed.program.model import Source, program_from_text
from testbed.words.errors import BuildError
from tests.build.data_sources import data_sources, large_expressions

ALL_ISAS = [(arch, isa) for arch in ARCHES.values() for isa in arch.isas]


def read(text: str, arch: Arch, isa: Isa) -> Source:
    return program_from_text("t", arch, text, isa=isa.name).sources[isa.name]


def image(folder: Path, content: bytes) -> Image:
    path = folder / "t.elf"
    path.write_bytes(content)
    return read_elf(path)


def said_of_each_byte(built: Image) -> list[Isa | None]:
    """What the mapping symbols say: an instruction set, or data. Two at one address: the last one holds."""
    text = built.sections[".text"]
    marks = dict(built.isa_marks)
    said: list[Isa | None] = []
    for address in range(text.address, text.address + len(text.data)):
        said.append(marks[address] if address in marks else said[-1] if said else None)
    return said


@pytest.mark.parametrize(("arch", "isa"), ALL_ISAS, ids=lambda value: value.name)
def test_random_data_is_what_clang_makes_of_it(arch: Arch, isa: Isa, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("data")

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data_sources(isa.name))
    def same(text: str) -> None:
        source = read(text, arch, isa)
        ours = image(folder, assemble_program(source, arch, isa))
        clangs = image(folder, assemble(source, arch, isa, ()))
        assert ours.sections[".text"].data.hex() == clangs.sections[".text"].data.hex()
        assert said_of_each_byte(ours) == said_of_each_byte(clangs)
        assert ours.symbols == tuple(s for s in clangs.symbols if not s.name.startswith(".L0"))

    same()


def test_expressions_of_64_bits_are_what_clang_makes_of_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, arch = tmp_path_factory.mktemp("large"), ARCHES["x86_64"]

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(large_expressions(), min_size=40, max_size=40))
    def same(expressions: list[str]) -> None:
        source = read(
            ".globl _start\n_start: nop\n" + "".join(f".8byte {text}\n" for text in expressions), arch, arch.isas[0]
        )
        ours = image(folder, assemble_program(source, arch, arch.isas[0])).sections[".text"].data
        clangs = image(folder, assemble(source, arch, arch.isas[0], ())).sections[".text"].data
        for number, text in enumerate(expressions):
            assert ours[8 * number + 1 :][:8] == clangs[8 * number + 1 :][:8], text

    same()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-0x8000000000000000 / -1", "a quotient of more than 64 bits"),
        ("-0x8000000000000000 % -1", "a quotient of more than 64 bits"),
        ("1 << 64", "a shift by 64; 0 to 63 are possible"),
        ("0x10000000000000000", "a number of more than 64 bits"),
        ("1 / (2 - 2)", "by zero"),
    ],
)
def test_what_has_no_value_of_64_bits_is_refused(text: str, why: str) -> None:
    arch = ARCHES["x86_64"]
    with pytest.raises(BuildError, match=rf"^t\.x86_64\.S:2:\d+: .*{why}"):
        assemble_program(read(f"_start: nop\n .8byte {text}\n", arch, arch.isas[0]), arch, arch.isas[0])


def test_a_table_of_bytes_behind_an_odd_byte_stays_where_it_is() -> None:
    """A ``tbb`` table: its entries are bytes, its labels lie at odd addresses."""
    text = ".thumb\n_start: nop\n.La: .byte 0x11\n.Lb: .byte 0x22, .Lb - .La, 0x33\n.Lc: .2byte .Lc - .Lb\n"
    arch = ARCHES["arm32"]
    content = assemble_program(read(text, arch, arch.isas[1]), arch, arch.isas[1])
    assert bytes.fromhex("00bf 11 2201 33 0300") in content


@pytest.mark.parametrize(("isa", "boundary"), [("thumb", 2), ("a32", 4), ("arm64", 4)])
def test_an_instruction_where_no_instruction_can_be_is_an_error(isa: str, boundary: int) -> None:
    arch, chosen = next((arch, each) for arch, each in ALL_ISAS if each.name == isa)
    with pytest.raises(BuildError, match=rf"^t\.{isa}\.S:3:8: an instruction at 0x410\w+, no multiple of {boundary}: "):
        assemble_program(read("_start:\n .byte 1\nother: nop\n", arch, chosen), arch, chosen)
