"""Flags for compilers, by the number of a generated program: other frames than the recipes' make, of the same source.

Left out is what shows a known finding at every function (GCC's ``-fpatchable-function-entry`` and
``-mfunction-return=thunk``, ``-pg``), and what needs a run-time library (``-fsplit-stack``, clang's external thunks).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from testbed.arch import ARCHES, Arch, PerIsa
from testbed.build.recipe import Recipe, Tool
from testbed.campaign.results import Unit
from testbed.generate.names import named
from testbed.generate.program import generated_program
from testbed.generate.seeds import dice_of, one_of

MOST_FLAGS = 3
RECIPES_FOR_FLAGS = (
    *("clang-O0-fp", "clang-O1", "clang-O2", "clang-O2-fp", "clang-O3", "clang-Os", "clang-Oz", "clang-thumb-O2"),
    *("gcc-O0-fp", "gcc-O2", "gcc-O2-fp", "gcc-O3", "gcc-Os", "gcc-thumb-O2", "gcc-thumb-Os"),
)
_BOTH = (
    *("-fno-optimize-sibling-calls", "-fno-inline", "-funroll-loops", "-ffunction-sections", "-fno-plt", "-fwrapv"),
    *("-fstack-clash-protection", "-fno-unwind-tables", "-fno-jump-tables"),
)
_GCC = (
    *("-fno-shrink-wrap", "-fno-shrink-wrap-separate", "-fno-schedule-insns2", "-fschedule-insns", "-fno-ipa-ra"),
    *("-fno-reorder-blocks", "-fno-tree-vectorize", "-fno-defer-pop", "-fno-caller-saves", "-fno-if-conversion"),
    *("-fconserve-stack", "-fno-crossjumping", "-ftracer"),
)

# By instruction set, beside what all of a compiler's have.
OF_CLANG = PerIsa[tuple[str, ...]](
    {
        "x86_64": (
            *("-mno-red-zone", "-mstackrealign", "-mstack-alignment=32", "-fcf-protection=full"),
            "-fpatchable-function-entry=2",
        ),
        "arm64": ("-mbranch-protection=pac-ret+leaf", "-mno-outline", "-fpatchable-function-entry=2"),
        "a32": ("-fshort-enums",),
        "thumb": ("-mrestrict-it",),
    }
)
OF_GCC = PerIsa[tuple[str, ...]](
    {
        "x86_64": (
            *("-mno-red-zone", "-mstackrealign", "-maccumulate-outgoing-args", "-mno-push-args"),
            *("-fcf-protection=full", "-mpreferred-stack-boundary=5", "-freorder-blocks-and-partition"),
        ),
        "arm64": ("-mbranch-protection=pac-ret+leaf", "-mno-omit-leaf-frame-pointer", "-mstrict-align"),
        "a32": ("-mapcs-frame", "-mno-unaligned-access", "-fno-section-anchors"),
        "thumb": ("-mno-unaligned-access", "-fno-section-anchors", "-mrestrict-it"),
    }
)
_BY_TOOL: Mapping[Tool, tuple[tuple[str, ...], PerIsa[tuple[str, ...]]]] = MappingProxyType(
    {Tool.CLANG: (_BOTH, OF_CLANG), Tool.GCC: (_BOTH + _GCC, OF_GCC)}
)


def flagged_cases(seeds: Iterable[int], arches: Sequence[Arch], recipes: Sequence[Recipe]) -> Iterator[Unit]:
    """For each seed and architecture one of the recipes, and up to `MOST_FLAGS` flags: ``genc:12,-fno-plt``.

    The same ones for a seed on every machine, as long as the tables here and the recipes asked for are the same.
    """
    for seed in seeds:
        program = generated_program(named("genc", seed))
        for arch in arches:
            usable = [each for each in recipes if each.tool in _BY_TOOL and each.source_of(program, arch) is not None]
            if usable:
                dice = dice_of((seed << 8) + list(ARCHES).index(arch.name) + 1)
                recipe = one_of(dice, usable)
                yield Unit(named("genc", seed, _flags(dice, arch, recipe)), arch.name, recipe.name)


def _flags(dice: Iterator[int], arch: Arch, recipe: Recipe) -> tuple[str, ...]:
    isa = recipe.isa_on(arch)
    assert isa is not None, f"{recipe.name} builds nothing for {arch}"
    of_all, by_isa = _BY_TOOL[recipe.tool]
    known = of_all + by_isa[isa.name]
    return tuple(dict.fromkeys(one_of(dice, known) for _ in range(1 + next(dice) % MOST_FLAGS)))
