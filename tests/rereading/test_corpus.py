"""Both readers of every format say the same of every pc that programs of the corpus execute."""

from __future__ import annotations

from collections import Counter

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.units import units
from testbed.runs.run import Run, run_program
from testbed.words.errors import ToolchainMissing
from testbed.words.table_formats import TABLE_FORMATS
from tests.rereading.beside import TECHNIQUES, differences
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
