"""Function, file, line and inlined calls at executed addresses, of every recipe: what addr2line and LLVM's reader say.

One of ``PART`` units is compared, unless all are asked for (``--everything``).
"""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from tests.image.executed import EXPLAINED, LLVM, SAME, Compared, compared

PART = 20
RECIPES_THERE = sorted({(u.arch, u.recipe) for u in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())})


@pytest.mark.parametrize(("arch", "recipe"), RECIPES_THERE)
def test_every_executed_address_has_the_names_that_the_readers_give(
    arch: str, recipe: str, request: pytest.FixtureRequest
) -> None:
    chosen = units(PROGRAMS.values(), [ARCHES[arch]], [RECIPES[recipe]])
    found = Compared()
    part = chosen[len(recipe) % min(PART, len(chosen)) :: PART]
    for unit in chosen if request.config.getoption("--everything") else part:
        found.add(compared(unit))
    assert found.unexplained == []
    assert found.executed > 0
    for reader in {reader for reader, _ in found.counts}:
        said = {why: count for (one, why), count in found.counts.items() if one == reader}
        assert sum(said.values()) == found.executed
        assert said.keys() - {SAME} <= {why for why, (*readers, _) in EXPLAINED.items() if reader in readers}
    assert LLVM in {reader for reader, _ in found.counts}
