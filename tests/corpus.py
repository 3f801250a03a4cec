"""Programs of the corpus by name, built and run."""

from functools import cache

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.runs.run import Run, run_program

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())  # those of a matrix


def built(program: str, arch: str, recipe: str = "keystone") -> Built:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])


@cache
def ran(program: str, arch: str, recipe: str | None = None) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)
