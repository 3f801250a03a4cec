"""Flags for compilers, by the number of a generated program: other frames than the recipes' make, of the same source.

What a flag makes compilers call, the program brings (`testbed.generate.c_runtime`). Instructions at which a compiler's
table is known to be wrong with a flag are found and declared (`testbed.campaign.fuzz`). Left out is what
needs a run-time library of its own (``-fsplit-stack``), and thunks for indirect calls (``-mretpoline``,
``-mindirect-branch=thunk``, on x86_64 clang's ``-mspeculative-load-hardening``): `programs/retpoline.x86_64.S`. On
arm64 that flag masks what an epilogue loads, and who follows values knows none of it: `programs/masked_return.c`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from testbed.arch import ARCHES, Arch, PerIsa
from testbed.build.recipes import Recipe, Tool
from testbed.campaign.cells import Unit
from testbed.generate.c_runtime import CONVENTION, VECTORS
from testbed.generate.program import generated_program
from testbed.generate.seeds import dice_of, named, one_of

MOST_FLAGS = 3  # draws from the tables below; one may be of two words
RECIPES_FOR_FLAGS = (
    *("clang-O0-fp", "clang-O1", "clang-O2", "clang-O2-fp", "clang-O3", "clang-Os", "clang-Oz"),
    *("clang-thumb-O2", "clang-thumb-O2-fp", "gcc-thumb-O2-fp"),
    *("gcc-O0-fp", "gcc-O2", "gcc-O2-fp", "gcc-O3", "gcc-Os", "gcc-thumb-O2", "gcc-thumb-Os"),
)
_PROFILED = "-pg"
_BOTH = (
    *("-fno-optimize-sibling-calls", "-fno-inline", "-funroll-loops", "-ffunction-sections", "-fno-plt", "-fwrapv"),
    *("-fstack-clash-protection", "-fno-unwind-tables", "-fno-jump-tables", "-fexceptions", "-finstrument-functions"),
    *("-fstack-protector-all -mstack-protector-guard=global", VECTORS, _PROFILED),
)
_GCC = (
    *("-fno-shrink-wrap", "-fno-shrink-wrap-separate", "-fno-schedule-insns2", "-fschedule-insns", "-fno-ipa-ra"),
    *("-fno-reorder-blocks", "-fno-tree-vectorize", "-fno-defer-pop", "-fno-caller-saves", "-fno-if-conversion"),
    *("-fconserve-stack", "-fno-crossjumping", "-ftracer", "-frename-registers"),
    *("-fpatchable-function-entry=2", "-fselective-scheduling2", "-fno-peephole2", "-fira-region=all"),
    "-fstack-check",
)

# By instruction set, beside what all of a compiler's have.
OF_CLANG = PerIsa[tuple[str, ...]](
    {
        "x86_64": (
            *("-mno-red-zone", "-mstackrealign", "-mstack-alignment=32", "-fcf-protection=full"),
            *("-fpatchable-function-entry=2", "-momit-leaf-frame-pointer", f"{_PROFILED} -mfentry"),
            *("-fzero-call-used-regs=used", "-mfunction-return=thunk-extern"),
            *(f"{CONVENTION}={name}" for name in ("ms_abi", "vectorcall", "preserve_most", "preserve_all")),
            f"{CONVENTION}=ms_abi {VECTORS}",
        ),
        "arm64": (
            *("-mbranch-protection=pac-ret+leaf", "-mno-outline", "-fpatchable-function-entry=2"),
            *("-mno-omit-leaf-frame-pointer", "-fzero-call-used-regs=used"),
            # Not preserve_most and preserve_all: clang realigns a frame by x9, which these conventions keep.
            f"{CONVENTION}=aarch64_vector_pcs",
        ),
        "a32": ("-fshort-enums", "-mlong-calls", "-mno-unaligned-access"),
        "thumb": ("-mrestrict-it", "-mlong-calls", "-mno-unaligned-access"),
    }
)
OF_GCC = PerIsa[tuple[str, ...]](
    {
        "x86_64": (
            *("-mno-red-zone", "-mstackrealign", "-maccumulate-outgoing-args", "-mno-push-args", "-mforce-drap"),
            *("-fcf-protection=full", "-mpreferred-stack-boundary=5", "-freorder-blocks-and-partition"),
            *("-momit-leaf-frame-pointer", f"{_PROFILED} -mfentry", "-mtune=bonnell", "-fzero-call-used-regs=used"),
            *("-mfunction-return=thunk", "-mfunction-return=thunk-inline"),
            *(f"{CONVENTION}=ms_abi", f"{CONVENTION}=ms_abi {VECTORS}"),
        ),
        "arm64": (
            *("-mbranch-protection=pac-ret+leaf", "-mno-omit-leaf-frame-pointer", "-mstrict-align"),
            *("-mtune=cortex-a53", "-fzero-call-used-regs=used", f"{CONVENTION}=aarch64_vector_pcs"),
        ),
        "a32": ("-mapcs-frame", "-mno-unaligned-access", "-fno-section-anchors", "-mlong-calls", "-mtune=cortex-a7"),
        "thumb": (
            *("-mno-unaligned-access", "-fno-section-anchors", "-mrestrict-it", "-mlong-calls", "-mtune=cortex-a7"),
        ),
    }
)
# What compilers refuse together, or make wrong code of: of a draw that has two of one set, the first stays.
_EXCLUSIVE = (
    ("-fcf-protection", "-mfunction-return"),
    (CONVENTION,),
    ("-fstack-check", "-fstack-clash-protection"),
    ("-mapcs-frame", _PROFILED),
    ("-mapcs-frame", VECTORS),  # GCC loads d8, d9 and d15 in another order than it has stored them in
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
    # Compilers refuse to profile without frame pointers.
    pointers = "-fno-omit-frame-pointer" in recipe.flags
    known = [words for words in of_all + by_isa[isa.name] if pointers or _PROFILED not in words.split()]
    drawn = [one_of(dice, known) for _ in range(1 + next(dice) % MOST_FLAGS)]
    flags: list[str] = []
    for words in drawn:
        if not any(_refused(word, flag) for word in words.split() for flag in flags):
            flags += [word for word in words.split() if word not in flags]
    return tuple(flags)


def _refused(word: str, beside: str) -> bool:
    """Do compilers refuse these two, which are not the same, together?"""
    if word == beside:
        return False
    sets = ([kind for kind in kinds if flag.startswith(kind)] for kinds in _EXCLUSIVE for flag in (word, beside))
    ours = list(sets)
    return any(one and other for one, other in zip(ours[::2], ours[1::2], strict=True))
