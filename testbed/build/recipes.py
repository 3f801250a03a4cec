"""The catalogue of recipes, read from ``recipes.toml``, and which programs the matrix builds by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.keystone import KEYSTONE
from testbed.build.targets import MACH_O
from testbed.program.model import Language, Program, Source
from testbed.program.start import SHADOW_START, START
from testbed.words.catalogue import matches, nearest
from testbed.words.data_file import WORDS, read_toml, tables_in
from testbed.words.errors import UsageError

# What a recipe is: how a source becomes a file. A recipe is a value; `testbed.build` acts on it.


class Tool(Enum):
    """What turns the source into a file; ``takes`` is the language it reads."""

    KEYSTONE = "keystone, our own tables"
    CLANG_ASSEMBLY = "clang's assembler, lld"
    CLANG = "clang, lld"
    CLANG_MACH_O = "clang, Zig's Mach-O linker"
    OTHER_CLANG = "the clang and lld that TESTBED_OTHER_ZIG names"
    GCC = "GCC, GNU as and ld"
    GNU_ASSEMBLY = "GNU as and ld"
    NONE = "already built"

    @property
    def takes(self) -> Language:
        return _TAKES[self]

    @property
    def gnu(self) -> bool:
        """True for the tools of `testbed.build.compile`."""
        return self in (Tool.GCC, Tool.GNU_ASSEMBLY)

    @property
    def suffix(self) -> str:
        """What the built file's name ends in."""
        return "macho" if self is Tool.CLANG_MACH_O else "elf"


_TAKES = {
    Tool.KEYSTONE: Language.ASSEMBLY,
    Tool.CLANG_ASSEMBLY: Language.ASSEMBLY,
    Tool.CLANG: Language.C,
    Tool.CLANG_MACH_O: Language.C,
    Tool.OTHER_CLANG: Language.C,
    Tool.GCC: Language.C,
    Tool.GNU_ASSEMBLY: Language.ASSEMBLY,
    Tool.NONE: Language.ELF,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to build: a tool, its flags, and what is true of the result.

    ``isa`` is the instruction set built for, where an architecture has several (None: its first). ``arches`` are
    those that it builds for (None: all). ``frame_records`` names the layout by instruction set where the compiler does
    not use the default. ``one_object``: a C program and its ``_start`` are assembled together,
    for tables that the linker joins wrongly when they come from several objects. ``opt_in``: the matrix has it only
    for programs whose header names it under ``recipes``; by name it builds every program that it can, unless it is
    ``by_name``: then only those. ``shadow``: its ``_start`` makes a shadow call stack. ``start_lines`` come before that
    ``_start``. ``cpu`` names the CPU model that the code is for, where it is not the usual one.
    """

    name: str
    summary: str
    tool: Tool
    isa: str | None = None
    arches: frozenset[str] | None = None
    flags: tuple[str, ...] = ()
    frame_records: Mapping[str, str] = field(default_factory=dict)
    one_object: bool = False
    opt_in: bool = False
    by_name: bool = False
    shadow: bool = False
    start_lines: str = ""
    cpu: str | None = None

    def start_of(self, isa: Isa) -> str:
        """The assembly source of the ``_start`` that C programs of this recipe are linked with."""
        start = SHADOW_START[isa.name] if self.shadow else START[isa.name]
        assert start is not None, f"{self.name} keeps a shadow call stack, and {isa.name} has none"
        return self.start_lines + start

    def isa_on(self, arch: Arch) -> Isa | None:
        """The instruction set this recipe builds for on an architecture, or None: it is not for that one."""
        if self.arches and arch.name not in self.arches:
            return None
        if self.tool is Tool.CLANG_MACH_O and MACH_O[arch.name] is None:
            return None
        isa = arch.isa_named(self.isa) if self.isa else arch.isas[0]
        return None if isa and self.tool is Tool.KEYSTONE and KEYSTONE[isa.name] is None else isa

    def source_of(self, program: Program, arch: Arch) -> Source | None:
        """The source this recipe builds of a program on an architecture, or None: there is no such cell."""
        isa = self.isa_on(arch)
        source = program.source_for(isa) if isa else None
        if source is None or source.language is not self.tool.takes or not matches(self.name, source.header.recipes):
            return None
        if self.by_name and not source.header.recipes:
            return None
        header = source.header
        if self.tool is Tool.KEYSTONE and (header.clang_only or header.syntax or header.sources or header.flags):
            return None
        one_file = self.one_object or self.tool is Tool.CLANG_MACH_O
        return None if one_file and header.sources else source


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
        keys = dict(table.keys)
        arches = keys.pop("arches", None)
        recipe = Recipe(
            **{**keys, "tool": table.chosen("tool", keys["tool"], Tool.__members__)},
            arches=None if arches is None else frozenset(table.chosen("arches", name, ARCHES).name for name in arches),
        )
        if recipe.name in recipes:
            raise table.wrong("name", "another recipe has that name")
        recipes[recipe.name] = recipe
    return recipes


PREBUILT = Recipe(name="prebuilt", summary="a program file from elsewhere, as it is", tool=Tool.NONE)
_CONTENT = read_toml(_FILE)
RECIPES: Mapping[str, Recipe] = MappingProxyType(recipes_in(_FILE, _CONTENT))
_SELECTS = {"recipes": WORDS, "programs": WORDS}
SELECTION: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = tuple(
    (table.keys["recipes"], table.keys["programs"])
    for table in tables_in(_FILE, _CONTENT, "selection", _SELECTS, frozenset(_SELECTS))
)


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
