"""Real SFrame tables, ours, and `.eh_frame`: the same CFA, return address and frame pointer at every pc.

Producers: our writer (version 2), clang's assembler (version 2, x86_64), GNU as 2.40 (version 1, x86_64 and arm64).
The independent reader is ``readelf --sframe``, which reads version 1 in binutils 2.40.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.compile import assemble
from testbed.build.recipes import PREBUILT, RECIPES, SFRAME_FLAGS
from testbed.image import Image, read_elf
from testbed.matrix import Unit, units
from testbed.program import Language, Program
from testbed.rows import AtCfa, RegisterPlus, RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.run import judge_all, run_built
from testbed.traits import Trait
from tests.unwinders import producers
from unwinders.formats.cfi import cfi_table
from unwinders.formats.sframe import sframe_table
from unwinders.sframe import SFRAME

WITH_NUMBER = [arch for arch in ARCHES.values() if arch.sframe_abi is not None]
UNITS = units(PROGRAMS.values(), WITH_NUMBER, RECIPES.values())
WRITTEN = [unit for unit in UNITS if unit.recipe == "keystone"]
# What a compact format cannot express, as a program's header declares; producers then leave out more, or less, than we.
BEYOND = frozenset({Trait.REALIGNED, Trait.INEXPRESSIBLE, Trait.LOST_REGISTER})
EXPRESSIBLE = [
    unit for unit in WRITTEN if not any(s.header.traits & BEYOND for s in PROGRAMS[unit.program].sources.values())
]
COMPILED = [unit for unit in UNITS if unit.recipe.endswith("-sframe")]
C_PROGRAMS = [p for p in PROGRAMS.values() if any(s.language is Language.C for s in p.sources.values())]
GNU_CASES = [
    pytest.param(program, arch, flag, id=f"{program.name}-{arch}{flag[2:]}")
    for program in C_PROGRAMS
    for arch in WITH_NUMBER
    for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
]

Meaning = tuple[Rule | None, Rule | None, Rule | None]


def meaning(row: UnwindRow | None, image: Image) -> Meaning | None:
    """The three things that SFrame knows, as any format's row says them. The outermost frame needs no more."""
    if row is None:
        return None
    arch = image.arch
    ra = row.registers.get(row.return_address, SameValue() if arch.link else None)
    if isinstance(ra, Undefined):
        return None, ra, None
    return row.cfa, ra, row.registers.get(arch.frame_pointers[0], SameValue())


def assert_equal_at_every_pc(image: Image, left: RowTable, right: RowTable, *, roots: bool = True) -> int:
    """How many pcs were compared. Without ``roots``, a producer that cannot say "outermost" is let off there."""
    compared = 0
    text = image.sections[".text"]
    for pc in range(text.address, text.address + len(text.data)):
        here, there = meaning(left.at(pc), image), meaning(right.at(pc), image)
        outermost = (None, Undefined(), None)
        if not roots and outermost in (here, there):
            continue
        assert here == there, f"{pc:#x}: {left.source} {here}, {right.source} {there}"
        compared += here is not None
    return compared


@pytest.mark.parametrize("unit", WRITTEN, ids=str)
def test_written_rows_are_those_of_eh_frame(unit: Unit) -> None:
    image = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image
    said = {row.found_by for row in sframe_table(image)}
    silent = {f.name for f in image.symbols if f.is_function and f.size and sframe_table(image).at(f.address) is None}
    if silent:
        pytest.skip(f"the format cannot say the rows of {', '.join(sorted(silent))}")
    assert said
    assert assert_equal_at_every_pc(image, sframe_table(image), cfi_table(image, ".eh_frame")) > 20


@pytest.mark.parametrize("unit", [unit for unit in EXPRESSIBLE if unit.arch == "x86_64"], ids=str)
def test_clangs_assembler_writes_what_we_write(unit: Unit, tmp_path: Path) -> None:
    """clang does not say that a frame is the outermost one; there alone its rows differ from ours."""
    arch = ARCHES[unit.arch]
    ours = build(PROGRAMS[unit.program], arch, RECIPES["keystone"]).image
    path = tmp_path / "clang.elf"
    source = PROGRAMS[unit.program].source_for(arch.isas[0])
    assert source is not None
    path.write_bytes(assemble(source, arch, arch.isas[0], SFRAME_FLAGS))
    clangs = read_elf(path)
    assert clangs.sections[".text"].data == ours.sections[".text"].data
    assert assert_equal_at_every_pc(ours, sframe_table(ours), sframe_table(clangs), roots=False) > 10


@pytest.mark.parametrize("unit", COMPILED, ids=str)
def test_compiled_rows_are_those_of_eh_frame(unit: Unit) -> None:
    image = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image
    eh_frame = cfi_table(image, ".eh_frame")
    assert assert_equal_at_every_pc(image, sframe_table(image), eh_frame, roots=False) > 20


@pytest.mark.parametrize(("program", "arch", "flag"), GNU_CASES)
def test_gnu_as_writes_version_1_and_it_is_right(program: Program, arch: Arch, flag: str, tmp_path: Path) -> None:
    """Against `.eh_frame`, against readelf, and at every instruction of the run."""
    source = program.source_for(arch.isas[0])
    assert source is not None
    whole = producers.compiled(source.path, arch, tmp_path, "-O2", flag)
    image = producers.by_gnu_as(whole, arch, tmp_path)
    assert image.sections[".sframe"].data[2] == 1
    table = sframe_table(image)
    assert assert_equal_at_every_pc(image, table, cfi_table(image, ".eh_frame"), roots=False) > 20
    assert [readelf_words(row, image) for row in table] == readelf_rows(image, tmp_path)
    built = Built(program, arch, PREBUILT, arch.isas[0], source, image.path, image, frozenset())
    run = run_built(built)
    assert not run.failure
    verdicts = judge_all(run, SFRAME)
    assert [verdict.depth for verdict in verdicts] == [len(run.truth(step)) for step in range(len(run))]
    # Version 1 cannot say that a frame is the outermost one. On x86_64 the zero where its return address would be
    # says it; on arm64 the link register still has what the last call left there.
    besides = set() if arch.link is None else {"phantom", "stopped"}
    assert {verdict.outcome.value for verdict in verdicts} <= {"exact"} | besides


def readelf_words(row: UnwindRow, image: Image) -> tuple[int, str, str, str]:
    """A row as ``readelf --sframe`` prints it. What has a fixed place, or none, it prints as `u`."""
    arch = image.arch
    assert isinstance(row.cfa, RegisterPlus)
    base = {arch.sp: "sp", arch.frame_pointers[0]: "fp"}[row.cfa.register]
    places = (row.registers.get(arch.frame_pointers[0]), row.registers.get(row.return_address) if arch.link else None)
    fp, ra = (f"c{rule.offset:+d}" if isinstance(rule, AtCfa) else "u" for rule in places)
    return row.start, f"{base}{row.cfa.offset:+d}", fp, ra


def readelf_rows(image: Image, folder: Path) -> list[tuple[int, str, str, str]]:
    text = producers.run(producers.tool("readelf", "binutils"), "--sframe=.sframe", image.path, cwd=folder)
    row = re.compile(r"^ +(?P<pc>[0-9a-f]{8,16}) +(?P<cfa>\S+) +(?P<fp>\S+) +(?P<ra>\S+?)(?:\[s\])? *$", re.M)
    return [(int(m["pc"], 16), m["cfa"], m["fp"], m["ra"]) for m in row.finditer(text)]


def test_lld_joins_the_tables_of_two_objects_and_nobody_finds_the_second(tmp_path: Path) -> None:
    """Why a C program and its ``_start`` are one object in the recipes with SFrame."""
    arch = ARCHES["x86_64"]
    clang = (producers.find_zig(), "clang", "-c", *arch.isas[0].clang, *SFRAME_FLAGS)
    for name in ("first", "second"):
        text = f".globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n"
        (tmp_path / f"{name}.s").write_text(text, encoding="utf-8")
        producers.run(*clang, f"{name}.s", "-o", f"{name}.o", cwd=tmp_path)
    link = (producers.find_zig(), "ld.lld", "-m", arch.linker, "-e", "first", "first.o", "second.o", "-o", "two.elf")
    producers.run(*link, cwd=tmp_path)
    image = read_elf(tmp_path / "two.elf")
    assert image.sections[".sframe"].data.count(b"\xe2\xde\x02") == 2
    first, second = image.symbol_named("first"), image.symbol_named("second")
    assert first is not None
    assert second is not None
    table = sframe_table(image)
    assert (table.at(first.address) is not None, table.at(second.address)) == (True, None)
