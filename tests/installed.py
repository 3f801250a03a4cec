"""Which units can be built here: a test that goes through many leaves out those whose compiler is not installed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.cache import tool_version
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.words.errors import ToolchainMissing


@cache
def tools_of(unit: Unit) -> str | None:
    """The versions of what builds a unit, or None: something is missing."""
    recipe, arch = RECIPES[unit.recipe], ARCHES[unit.arch]
    source = recipe.source_of(PROGRAMS[unit.program], arch)
    assert source is not None, unit
    try:
        return tool_version(source, arch, recipe)
    except ToolchainMissing:
        return None


def installed(units: Iterable[Unit]) -> tuple[Unit, ...]:
    return tuple(unit for unit in units if tools_of(unit) is not None)
