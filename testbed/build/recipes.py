"""The catalogue of recipes: how a source becomes a file. A recipe is a value; `testbed.build` acts on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from testbed.arch import Arch, Isa
from testbed.catalogue import nearest
from testbed.errors import UsageError
from testbed.program import Language, Program, Source, matches
from testbed.traits import Trait


class Tool(Enum):
    """What turns the source into a file; ``takes`` is the language it reads."""

    KEYSTONE = "keystone, our own tables"
    CLANG_ASSEMBLY = "clang's assembler, lld"
    CLANG = "clang, lld"
    NONE = "already built"

    @property
    def takes(self) -> Language:
        return _TAKES[self]


_TAKES = {
    Tool.KEYSTONE: Language.ASSEMBLY,
    Tool.CLANG_ASSEMBLY: Language.ASSEMBLY,
    Tool.CLANG: Language.C,
    Tool.NONE: Language.ELF,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to build: a tool, its flags, and what is true of the result.

    ``isa`` is the instruction set built for, where an architecture has several (None: its first). ``traits``
    are facts about everything this recipe builds. ``frame_records`` names the layout by instruction set where
    the compiler does not use the default. ``one_object``: a C program and its ``_start`` are assembled together,
    for tables that the linker joins wrongly when they come from several objects.
    """

    name: str
    summary: str
    tool: Tool
    isa: str | None = None
    flags: tuple[str, ...] = ()
    traits: frozenset[Trait] = frozenset()
    frame_records: Mapping[str, str] = field(default_factory=dict)
    one_object: bool = False

    def isa_on(self, arch: Arch) -> Isa | None:
        """The instruction set this recipe builds for on an architecture, or None: it is not for that one."""
        return arch.isa_named(self.isa) if self.isa else arch.isas[0]

    def source_of(self, program: Program, arch: Arch) -> Source | None:
        """The source this recipe builds of a program on an architecture, or None: there is no such cell."""
        isa = self.isa_on(arch)
        source = program.source_for(isa) if isa else None
        if source is None or source.language is not self.tool.takes or not matches(self.name, source.header.recipes):
            return None
        return None if self.tool is Tool.KEYSTONE and source.header.clang_only else source


def _compiled() -> Iterator[Recipe]:
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        for level in ("O0", "O1", "O2", "Os"):
            yield Recipe(
                name=f"clang{infix}-{level}",
                summary=f"clang 22 -{level}, no frame pointers, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.CLANG,
                isa=isa,
                flags=(f"-{level}", "-fomit-frame-pointer", "-fasynchronous-unwind-tables"),
                traits=frozenset({Trait.FP_OMITTED}),
            )
            yield Recipe(
                name=f"clang{infix}-{level}-fp",
                summary=f"clang 22 -{level}, frame pointers, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.CLANG,
                isa=isa,
                flags=(f"-{level}", "-fno-omit-frame-pointer", "-fasynchronous-unwind-tables"),
            )


def _with_sframe() -> Iterator[Recipe]:
    # LLVM writes .sframe for x86_64 only, and only the assembler does: the compiler's flag goes through it.
    for suffix, words, flag, traits in (
        ("", "no frame pointers", "-fomit-frame-pointer", frozenset({Trait.FP_OMITTED})),
        ("-fp", "frame pointers", "-fno-omit-frame-pointer", frozenset[Trait]()),
    ):
        yield Recipe(
            name=f"clang-O2{suffix}-sframe",
            summary=f"clang 22 -O2, {words}, asynchronous tables, SFrame version 2",
            tool=Tool.CLANG,
            isa="x86_64",
            flags=("-O2", flag, "-fasynchronous-unwind-tables", *SFRAME_FLAGS),
            traits=traits,
            one_object=True,
        )


def _assembled() -> Iterator[Recipe]:
    for isa, suffix in ((None, ""), ("thumb", "-thumb")):
        yield Recipe(
            name=f"keystone{suffix}",
            summary=f"keystone, tables written by the testbed{', Thumb' if isa else ''}",
            tool=Tool.KEYSTONE,
            isa=isa,
        )
        yield Recipe(
            name=f"clang-asm{suffix}",
            summary=f"clang 22's assembler and lld{', Thumb' if isa else ''}",
            tool=Tool.CLANG_ASSEMBLY,
            isa=isa,
        )


SFRAME_FLAGS = ("-Wa,--allow-experimental-sframe", "-Wa,--gsframe")

PREBUILT = Recipe(name="prebuilt", summary="an ELF file from elsewhere, as it is", tool=Tool.NONE)

RECIPES: Mapping[str, Recipe] = MappingProxyType({r.name: r for r in (*_assembled(), *_compiled(), *_with_sframe())})


def recipes_for(program: Program, arch: Arch) -> tuple[Recipe, ...]:
    """The recipes that build a program on an architecture, in catalogue order."""
    return tuple(recipe for recipe in RECIPES.values() if recipe.source_of(program, arch) is not None)


def recipe_named(name: str, program: Program, arch: Arch) -> Recipe:
    """The recipe of that name, if it builds the program on the architecture; else UsageError says which do."""
    there = [recipe.name for recipe in recipes_for(program, arch)]
    if name in there:
        return RECIPES[name]
    if name in RECIPES:
        raise UsageError(f"recipe {name!r} does not build {program.name} on {arch}; there are: {', '.join(there)}")
    raise UsageError(f"no recipe {name!r}; {nearest(name, there)}")
