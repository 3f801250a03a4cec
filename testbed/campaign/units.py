"""Which units there are, and each of them built and run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, Recipe, recipes_for
from testbed.campaign.results import Unit
from testbed.program.model import Program
from testbed.runs.run import Run, run_built
from testbed.truth.expectations import NOT_AS_DECLARED
from testbed.words.errors import TestbedError

SEED = 1  # of the values planted in registers: every unit of every matrix runs with the same
BUDGET = 1_000_000  # steps after which a unit is given up


def units(
    programs: Iterable[Program], arches: Iterable[Arch], recipes: Iterable[Recipe], *, everything: bool = False
) -> tuple[Unit, ...]:
    """The units there are for these programs, architectures and recipes, in catalogue order.

    They are those of `testbed/build/recipes.toml`, or with ``everything`` all that can be built.
    """
    chosen_arches, chosen_recipes = set(arches), {recipe.name for recipe in recipes}
    return tuple(
        Unit(program.name, arch.name, recipe.name)
        for program in programs
        for arch in program.arches()
        if arch in chosen_arches
        for recipe in recipes_for(program, arch, everything=everything)
        if recipe.name in chosen_recipes
    )


def one_of_each(planned: Iterable[Unit]) -> tuple[Unit, ...]:
    """Of each program one unit for each instruction set that it is built for, whatever the recipe; in their order.

    Which one follows from the names alone, so that one more program does not change the others'.
    """
    chosen: dict[tuple[str, str, str], Unit] = {}
    for unit in planned:
        isa = RECIPES[unit.recipe].isa_on(ARCHES[unit.arch])
        key = unit.program, unit.arch, isa.name if isa else ""
        chosen[key] = min(chosen.get(key, unit), unit, key=lambda each: sha256(str(each).encode("utf-8")).digest())
    return tuple(chosen.values())


def build_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Built:
    """Build a unit, or take the file of an earlier equal build (never with ``fresh``)."""
    return build(programs[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe], fresh=fresh)


def run_unit(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Run:
    """Build and run a unit.

    Raises TestbedError where it cannot be built, does not run right, or has other stacks than its header declares.
    """
    run = run_built(build_unit(unit, programs, fresh=fresh), seed=SEED, budget=BUDGET)
    if run.failure:
        raise TestbedError(run.failure)
    if run.disagreements:
        raise TestbedError("\n".join((*run.disagreements, NOT_AS_DECLARED)))
    return run
