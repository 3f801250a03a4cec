"""Damaged tables: every second reader has a row for a pc, or says that there is none; it raises nothing else.

Of call frame information both readers say the same of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.rereading import NoRow, reread
from testbed.words.errors import ToolchainMissing
from tests.rereading.beside import differences, evaluated, registers_at, word_at
from tests.unwinders.mutations import mutated

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
