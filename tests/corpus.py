"""Programs of the corpus by name, built and run."""

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.cache import tool_version
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, units
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES
from testbed.runs.run import Run, run_program
from testbed.words.errors import ToolchainMissing

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())  # those of a matrix


def built(program: str, arch: str, recipe: str = "keystone") -> Built:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])


@cache
def ran(program: str, arch: str, recipe: str | None = None) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


# What is installed here: a test without its tool is skipped, one that goes through many units leaves out those whose
# compiler is missing.


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


def tool(names: str, package: str, path: str | None = None) -> str:
    """The first of some programs that there is; without one the test is skipped, and names Debian's package."""
    found = next(filter(None, (shutil.which(name, path=path) for name in names.split())), None)
    if found is None:
        pytest.skip(f"needs {names}: apt-get install {package}")
    return found


def script(path: Path, text: str) -> Path:
    """A program that is a text."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def referees_unwinder(referee: str, name: str) -> Unwinder:
    """An unwinder of a referee; without it the test is skipped."""
    if REFEREES[referee].find() is None:
        pytest.skip(f"needs {referee}: {REFEREES[referee].package}")
    return next(unwinder for unwinder in REFEREES[referee].unwinders if unwinder.name == name)
