"""The catalogue of recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from testbed.arch import Arch
from testbed.build import clang_recipes, hardened_recipes
from testbed.build.gcc_recipes import gcc_recipes
from testbed.build.recipe import Recipe, Tool
from testbed.build.selection import selected
from testbed.program.model import Language, Program
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest
from testbed.words.traits import Trait

__all__ = ["PREBUILT", "RECIPES", "SFRAME_FLAGS", "Recipe", "Tool", "first_recipe", "recipe_named", "recipes_for"]


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
        traits=frozenset({Trait.FP_OMITTED, Trait.SHADOW_STACK}),
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
    {
        recipe.name: recipe
        for recipe in (
            *_assembled(),
            *_compiled(),
            *clang_recipes.levels(),
            *clang_recipes.frame_pointers(),
            *clang_recipes.tables(),
            *_with_sframe(),
            *_special(),
            *hardened_recipes.for_any_program(),
            *hardened_recipes.for_some_programs(),
            *gcc_recipes(),
            *clang_recipes.other_clang(),
            *_mach_o(),
        )
    }
)


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
