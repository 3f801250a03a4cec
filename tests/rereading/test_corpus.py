"""Both readers of every format say the same of every pc that programs of the corpus execute."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.contract.rows import RowTable
from testbed.image import read_image
from testbed.rereading import NoRow, reread
from testbed.runs.run import Run, run_program
from testbed.words.errors import ToolchainMissing
from testbed.words.table_formats import BY_SECTION, TABLE_FORMATS
from tests.rereading.beside import TECHNIQUES, differences, evaluated, registers_at, word_at
from tests.unwinders.mutations import mutated
from unwinders import UNWINDERS

PART = 23  # of this many units, one is compared unless all are asked for


def looked_up(run: Run) -> set[int]:
    """The link-time pcs that were executed, and those that a caller is looked up at: in its call, before the next."""
    pcs = {int(pc) - run.loaded.bias for pc in run.trace.pc}
    return pcs | {pc - 1 for pc in pcs}


@pytest.mark.parametrize("arch", ARCHES)
def test_both_readers_say_the_same_of_every_executed_pc(arch: str, request: pytest.FixtureRequest) -> None:
    here = [unit for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values()) if unit.arch == arch]
    compared: Counter[str] = Counter()
    for unit in here if request.config.getoption("--everything") else here[5::PART]:
        try:
            run = run_program(PROGRAMS[unit.program], ARCHES[arch], unit.recipe)
        except ToolchainMissing:
            continue
        pcs = looked_up(run)
        for format in (each.section for each in TABLE_FORMATS.values()):
            if UNWINDERS[TECHNIQUES[format]].applies_to(run.built.image):
                compared[format] += len(pcs)
                assert [str(each) for each in differences(run.built.image, format, pcs)] == [], str(unit)
    print(arch, dict(compared))
    assert len(compared) >= 2 and min(compared.values()) > 50, compared


# Both readers say the same of libraries that others have compiled: at the ends of every row of some entries.

ENTRIES = 20  # of each table
FILES = [
    f"{folder}/{name}"
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/aarch64-linux-gnu/lib", "/usr/arm-linux-gnueabihf/lib")
    for name in ("libc.so.6", "libgcc_s.so.1", "libstdc++.so.6")
]


def ends(table: RowTable, seed: int) -> set[int]:
    """The first and the last pc of rows, and those around their entries."""
    if not table.entries:
        chosen = Random(seed).sample(table.rows, min(4 * ENTRIES, len(table)))
        return {pc for row in chosen for pc in (row.start, row.end - 1)}
    pcs = set()
    for start, end, _ in Random(seed).sample(table.entries, min(ENTRIES, len(table.entries))):
        rows = table.rows[bisect_left(table.starts, start) : bisect_left(table.starts, end)]
        pcs |= {start - 1, end, *(row.start for row in rows), *(row.end - 1 for row in rows)}
    return pcs


@pytest.mark.parametrize("file", FILES)
def test_both_readers_say_the_same_of_a_library(file: str) -> None:
    if not Path(file).exists():
        pytest.skip(f"{file} is not installed")
    image = read_image(file)
    compared = 0
    for format in BY_SECTION:
        technique = UNWINDERS[TECHNIQUES[format]]
        if technique.rows is not None and technique.applies_to(image):
            pcs = ends(technique.rows(image), seed=len(file))
            compared += len(pcs)
            assert [str(each) for each in differences(image, format, pcs)] == []
    assert compared > 40


# Damaged tables: every second reader has a row for a pc, or says that there is none; it raises nothing else.
#
# Of call frame information both readers say the same of them.

TABLES = {
    ".eh_frame": ("x86_64", "clang-O2", [".eh_frame"]),
    ".eh_frame_hdr": ("arm64", "clang-O2", [".eh_frame_hdr", ".eh_frame"]),
    ".debug_frame": ("arm32", "clang-O2", [".debug_frame"]),
    ".ARM.exidx": ("arm32", "clang-O2", [".ARM.exidx"]),
    ".sframe": ("x86_64", "clang-O2-sframe", [".sframe"]),
    ".orc_unwind": ("x86_64", "keystone", [".orc_unwind", ".orc_unwind_ip"]),
    "__compact_unwind": ("x86_64", "macho-O2-nofp", ["__TEXT,__unwind_info", "__TEXT,__eh_frame"]),
}


@pytest.mark.parametrize("format", TABLES)
def test_a_damaged_table_has_rows_or_says_why_not(format: str) -> None:
    arch, recipe, names = TABLES[format]
    program = "recursion" if recipe != "keystone" else "leaf_call"
    try:
        image = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).image
    except ToolchainMissing as error:
        pytest.skip(str(error))
    random = Random(7)
    pcs = [symbol.address + 4 * i for symbol in image.symbols if symbol.is_function for i in range(3)]
    found: Counter[bool] = Counter()
    for _ in range(2000):
        sections = dict(image.sections)
        for name in names:
            if name in sections:
                sections[name] = replace(sections[name], data=mutated(sections[name].data, random))
        damaged = replace(image, sections=sections)
        for pc in pcs:
            row = reread(damaged, format, pc)
            found[isinstance(row, NoRow)] += 1
            if format in (".eh_frame", ".debug_frame"):
                assert not [*differences(damaged, format, [pc])]
            if not isinstance(row, NoRow):
                evaluated(row, registers_at(image.arch, pc), word_at)
    assert found[True] and found[False]
