"""Data between instructions: keystone's way and clang's put the same bytes at the same addresses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.compile import assemble
from testbed.build.link import assemble_program
from testbed.image import Image, read_elf
from testbed.program.model import Source, program_from_text
from testbed.words.errors import BuildError
from tests.build.data_sources import data_sources

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
