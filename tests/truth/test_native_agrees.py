"""The native pass finds what the readable rules find: same activations, same steps, same jumps."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.machine import record
from testbed.matrix import Unit, units
from testbed.trace import Trace
from tests.truth.watched import agree

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


@pytest.mark.parametrize("arch", ARCHES)
def test_on_every_program(arch: str) -> None:
    units_here = [unit for unit in UNITS if unit.arch == arch]
    assert units_here
    opened = sum(agree(_trace(unit)) for unit in units_here)
    assert opened > 3 * len(units_here)


def _trace(unit: Unit) -> Trace:
    return record(build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image)
