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
    CLANG_MACH_O = "clang, Zig's Mach-O linker"
    NONE = "already built"

    @property
    def takes(self) -> Language:
        return _TAKES[self]

    @property
    def suffix(self) -> str:
        """What the built file's name ends in."""
        return "macho" if self is Tool.CLANG_MACH_O else "elf"


_TAKES = {
    Tool.KEYSTONE: Language.ASSEMBLY,
    Tool.CLANG_ASSEMBLY: Language.ASSEMBLY,
    Tool.CLANG: Language.C,
    Tool.CLANG_MACH_O: Language.C,
    Tool.NONE: Language.ELF,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to build: a tool, its flags, and what is true of the result.

    ``isa`` is the instruction set built for, where an architecture has several (None: its first). ``arches`` are
    those that it builds for (None: all). ``traits``
    are facts about everything this recipe builds. ``frame_records`` names the layout by instruction set where
    the compiler does not use the default. ``one_object``: a C program and its ``_start`` are assembled together,
    for tables that the linker joins wrongly when they come from several objects. ``opt_in``: the matrix has it only
    for programs whose header names it under ``recipes``; by name it builds every program that it can. ``shadow``: its
    ``_start`` makes a shadow call stack. ``start_lines`` come before that ``_start``.
    """

    name: str
    summary: str
    tool: Tool
    isa: str | None = None
    arches: frozenset[str] | None = None
    flags: tuple[str, ...] = ()
    traits: frozenset[Trait] = frozenset()
    frame_records: Mapping[str, str] = field(default_factory=dict)
    one_object: bool = False
    opt_in: bool = False
    shadow: bool = False
    start_lines: str = ""

    def start_of(self, isa: Isa) -> str:
        """The assembly source of the ``_start`` that C programs of this recipe are linked with."""
        return self.start_lines + (isa.shadow_start if self.shadow else isa.start)

    def isa_on(self, arch: Arch) -> Isa | None:
        """The instruction set this recipe builds for on an architecture, or None: it is not for that one."""
        if (self.tool is Tool.CLANG_MACH_O and arch.mach_o is None) or (self.arches and arch.name not in self.arches):
            return None
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


def _special() -> Iterator[Recipe]:
    yield Recipe(
        name="clang-O2-scs",
        summary="clang 22 -O2, no frame pointers, shadow call stack in x18",
        tool=Tool.CLANG,
        isa="arm64",
        flags=(
            "-O2",
            "-fomit-frame-pointer",
            "-fasynchronous-unwind-tables",
            "-fsanitize=shadow-call-stack",
            "-ffixed-x18",
        ),
        traits=frozenset({Trait.FP_OMITTED}),
        shadow=True,
    )
    yield Recipe(
        name="clang-O2-debug_frame",
        summary="clang 22 -O2, no frame pointers, .debug_frame and no other table",
        tool=Tool.CLANG,
        arches=frozenset({"x86_64", "arm64"}),
        flags=("-O2", "-fomit-frame-pointer", "-fasynchronous-unwind-tables"),
        traits=frozenset({Trait.FP_OMITTED}),
        one_object=True,  # so that the directive speaks for the compiled code too; the compiler's own flags for
        # .debug_frame alone give arm64 code no epilogue rows
        start_lines=".cfi_sections .debug_frame\n",
    )


def _mach_o() -> Iterator[Recipe]:
    """What Apple's platforms run: compact unwind tables, and frame pointers as their ABI asks.

    Without asynchronous tables, most functions have a compact encoding. With them, every arm64 function with a frame
    has rows for its epilogue, which only DWARF can say; on x86_64 clang's encodings stay the same. arm64 code without
    frame pointers breaks that ABI, and clang gives it DWARF too.
    """
    compact = ("-fno-asynchronous-unwind-tables", "-funwind-tables")
    pointers, none = ("-fno-omit-frame-pointer",), ("-fomit-frame-pointer",)
    omitted = frozenset({Trait.FP_OMITTED})
    for name, what, isa, flags, traits in (
        ("O0", "-O0, frame pointers, compact unwind", None, ("-O0", *pointers, *compact), frozenset[Trait]()),
        ("O2", "-O2, frame pointers, compact unwind", None, ("-O2", *pointers, *compact), frozenset[Trait]()),
        ("O2-nofp", "-O2, no frame pointers, compact unwind", "x86_64", ("-O2", *none, *compact), omitted),
        (
            "O2-dwarf",
            "-O2, frame pointers, compact unwind that defers to __eh_frame",
            "arm64",
            ("-O2", *pointers, "-fasynchronous-unwind-tables"),
            frozenset[Trait](),
        ),
    ):
        yield Recipe(
            name=f"macho-{name}",
            summary=f"clang 22 {what}, Mach-O",
            tool=Tool.CLANG_MACH_O,
            isa=isa,
            flags=flags,
            traits=traits,
            opt_in=True,
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

PREBUILT = Recipe(name="prebuilt", summary="a program file from elsewhere, as it is", tool=Tool.NONE)

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {r.name: r for r in (*_assembled(), *_compiled(), *_with_sframe(), *_special(), *_mach_o())}
)


def recipes_for(program: Program, arch: Arch) -> tuple[Recipe, ...]:
    """The recipes of a program on an architecture, in catalogue order."""
    return tuple(
        recipe
        for recipe in RECIPES.values()
        if (source := recipe.source_of(program, arch)) is not None and (source.header.recipes or not recipe.opt_in)
    )


def recipe_named(name: str, program: Program, arch: Arch) -> Recipe:
    """The recipe of that name, if it builds the program on the architecture; else UsageError says which do."""
    there = [recipe.name for recipe in recipes_for(program, arch)]
    if name in there or (name in RECIPES and RECIPES[name].source_of(program, arch) is not None):
        return RECIPES[name]
    if name in RECIPES:
        raise UsageError(f"recipe {name!r} does not build {program.name} on {arch}; there are: {', '.join(there)}")
    raise UsageError(f"no recipe {name!r}; {nearest(name, there)}")
