"""The catalogue of recipes, read from ``recipes.toml``, and which programs the matrix builds by them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from testbed.arch import ARCHES, Arch
from testbed.build.recipe import Recipe, Tool
from testbed.program.model import Language, Program
from testbed.words.catalogue import matches
from testbed.words.data_file import WORDS, Table, read_toml, tables_in
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest

__all__ = ["PREBUILT", "RECIPES", "SELECTION", "Recipe", "Tool", "first_recipe", "recipe_named", "recipes_for"]

_FILE = Path(__file__).with_name("recipes.toml")
_KEYS: dict[str, type | str] = {
    **dict.fromkeys(("name", "summary", "tool", "isa", "start_lines", "cpu"), str),
    **dict.fromkeys(("arches", "flags"), WORDS),
    **dict.fromkeys(("one_object", "opt_in", "by_name", "shadow"), bool),
    "frame_records": dict,
}


def recipes_in(path: Path, content: Mapping[str, Any]) -> dict[str, Recipe]:
    """The recipes of a file by name, in its order. Raises DataFileError."""
    recipes: dict[str, Recipe] = {}
    for table in tables_in(path, content, "recipe", _KEYS, frozenset({"name", "summary", "tool"})):
        recipe = _recipe(table)
        if recipe.name in recipes:
            raise table.wrong("name", "another recipe has that name")
        recipes[recipe.name] = recipe
    return recipes


def _recipe(table: Table) -> Recipe:
    keys = dict(table.keys)
    arches = keys.pop("arches", None)
    return Recipe(
        **{**keys, "tool": table.chosen("tool", keys["tool"], Tool.__members__)},
        arches=None if arches is None else frozenset(table.chosen("arches", name, ARCHES).name for name in arches),
    )


def _selection(path: Path, content: Mapping[str, Any]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Patterns of recipes, and patterns of the programs that the matrix builds by them."""
    keys = {"recipes": WORDS, "programs": WORDS}
    tables = tables_in(path, content, "selection", keys, frozenset(keys))
    return tuple((table.keys["recipes"], table.keys["programs"]) for table in tables)


PREBUILT = Recipe(name="prebuilt", summary="a program file from elsewhere, as it is", tool=Tool.NONE)
_CONTENT = read_toml(_FILE)
RECIPES: Mapping[str, Recipe] = MappingProxyType(recipes_in(_FILE, _CONTENT))
SELECTION = _selection(_FILE, _CONTENT)


@cache
def selected(recipe: str, program: str) -> bool:
    """True where the matrix has this program by this recipe without being asked for all."""
    named = [programs for recipes, programs in SELECTION if matches(recipe, recipes)]
    return not named or any(programs and matches(program, programs) for programs in named)


@cache
def _taking(arch: Arch, languages: frozenset[tuple[str, Language]]) -> tuple[Recipe, ...]:
    """The recipes that build any of these on an architecture: languages, each with its instruction set."""
    return tuple(
        recipe
        for recipe in RECIPES.values()
        if (isa := recipe.isa_on(arch)) is not None and (isa.name, recipe.tool.takes) in languages
    )


def recipes_for(program: Program, arch: Arch, *, everything: bool = False) -> tuple[Recipe, ...]:
    """The recipes of a program on an architecture, in catalogue order: the selected ones, or all that can build it."""
    languages = {isa.name: source.language for isa in arch.isas if (source := program.source_for(isa))}
    return tuple(
        recipe
        for recipe in _taking(arch, frozenset(languages.items()))
        if (source := recipe.source_of(program, arch)) is not None
        and (everything or ((source.header.recipes or not recipe.opt_in) and selected(recipe.name, program.name)))
    )


def first_recipe(program: Program, arch: Arch) -> Recipe:
    """The recipe that builds a program on an architecture where none is named. Raises UsageError where none does."""
    there = recipes_for(program, arch)
    if not there:
        others = ", ".join(str(other) for other in program.arches() if recipes_for(program, other))
        raise UsageError(f"no recipe builds {program.name} on {arch}; they do on {others or 'no architecture'}")
    return there[0]


def recipe_named(name: str, program: Program, arch: Arch) -> Recipe:
    """The recipe of that name, if it builds the program on the architecture; else UsageError says which do."""
    there = [recipe.name for recipe in recipes_for(program, arch, everything=True)]
    if name in there:
        return RECIPES[name]
    if name in RECIPES:
        others = ", ".join(str(other) for other in program.arches()) or "no architecture"
        ways = f"there are: {', '.join(there)}" if there else f"no recipe does: its sources are for {others}"
        raise UsageError(f"recipe {name!r} does not build {program.name} on {arch}; {ways}")
    raise UsageError(f"no recipe {name!r}; {nearest(name, there)}")
