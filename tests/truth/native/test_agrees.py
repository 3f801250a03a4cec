"""The native pass finds what the readable rules find: same activations, same steps, same jumps."""

from __future__ import annotations

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.machine import record
from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.truth.native.sites import settle
from testbed.truth.sites import _extent, _settled
from tests.installed import installed
from tests.truth.watched import agree

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


@pytest.mark.parametrize("arch", ARCHES)
def test_on_every_program(arch: str) -> None:
    units_here = [unit for unit in installed(UNITS) if unit.arch == arch]
    assert units_here
    opened = sum(agree(_trace(unit)) for unit in units_here)
    assert opened > 3 * len(units_here)


def _trace(unit: Unit) -> Trace:
    built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
    return record(built.image, cpu=built.cpu)


def test_the_settled_pair_is_the_same_where_pairs_are_equally_frequent() -> None:
    rng = np.random.default_rng(1)
    for count in range(1, 60):
        segment = np.sort(rng.integers(0, 1 + count // 6, count))
        segment = np.cumsum(np.diff(segment, prepend=segment[0]) != 0)  # numbered without gaps
        sp, pointer = (rng.integers(0, 3, count).astype(np.uint64) for _ in range(2))
        kind = np.where(pointer != 0, 2, sp != 0).astype(np.int8)
        starts = np.flatnonzero(np.diff(segment, prepend=-1))
        first, last = _extent(_settled(segment, sp, pointer, kind), segment, starts)
        order = rng.permutation(count)
        by_order = np.argsort(order)  # the steps lie in another order than that by activation
        out = tuple(np.zeros(count, np.bool_) for _ in range(3))
        away = ((pointer != 0)[by_order], (sp != 0)[by_order])
        native(settle)(starts, order, (sp[by_order], pointer[by_order]), away, out)
        place = np.arange(count)
        still = np.logical_and.reduceat(pointer == 0, starts)[segment]
        for found, right in zip(out, (place < first[segment], place > last[segment], still), strict=True):
            assert found[order].tolist() == right.tolist(), count
