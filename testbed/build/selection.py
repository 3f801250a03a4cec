"""What the matrix has of each recipe unless it is asked for all: not every program by every recipe.

A recipe that is not named here builds every program that it can. Of the others a few programs show what the recipe is
for; `testbed matrix --all` runs the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from testbed.words.catalogue import matches

# Frames of every kind: equal ones, of any size, with structures, with jumps, with a call at their very end.
_SHAPES = ("recursion", "alloca_vla", "struct_return", "switch_table", "noreturn_last_call", "tail_chain", "cxx_names")
_FEW = ("recursion", "mutual_recursion", "noreturn_last_call")
_EVERY_DIRECTIVE = (
    *("callee_saved", "cold_split", "drap", "epilogue_cfa*", "leaf_call", "overlap", "red_zone", "signal", "tail_call"),
    *("val_expression", "att_syntax"),
)

# Patterns of programs by patterns of recipes; where several fit a recipe, their programs are added up.
SELECTION: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "clang*-O3": (*_FEW, "genc_fr6c1c1*"),
        "clang*-Oz*": (*_FEW, "big_frame", "genc_ft1_fs2*", "genc_f8c1_fec2*", "genc_fc1_f8v1c2*"),
        "clang*-leaf-fp": _FEW,
        "clang*-aapcs": _FEW,
        "clang*-sync": (*_FEW, "big_frame"),
        "clang*-bare": _FEW,
        "clang-O2*-pac": (*_SHAPES, "function_pointers"),
        "clang-O2-cet": (*_SHAPES, "function_pointers"),
        "clang-other-*": (),
        "gcc-asm*": _EVERY_DIRECTIVE,
        "gcc*-O0": ("alloca_vla",),
        "gcc*-O0-fp": (
            *_SHAPES,
            "overaligned",
            "mutual_recursion",
            "genc_f288c2c1*",
            "genc_fc2i1*",
            "genc_fc3c1_fc2*",
            "genc_fc2c1_f320c2*",
        ),
        "gcc*-O2": ("*",),
        "gcc*-O2-fp": (
            *_SHAPES,
            "genc_f3976s2c1*",
            "genc_f4104*",
            "genc_f4096r1c1*",
            "genc_f8m*",
            "genc_fc2c1*",
            "genc_fo32s1*",
            "genc_fs2__finstrument*",
        ),
        "gcc*-O2*-sframe": ("recursion", "struct_return", "overaligned"),
        "gcc*-O3*": ("big_frame", "genc_fc2c1_f8c2*", "genc_fc2c1_f32*", "genc_f4104*"),
        "gcc*-Os": (
            *_SHAPES,
            "adjoining",
            "genc_f8r3a1v1c1*",
            "genc_f152i1*",
            "genc_f8c3c3*",
            "genc_fa1s2c1*",
            "genc_fc1t1_ft2*",
        ),
        "gcc*-Os-fp": ("switch_table",),
    }
)


@cache
def selected(recipe: str, program: str) -> bool:
    """True where the matrix has this program by this recipe without being asked for all."""
    named = [programs for recipes, programs in SELECTION.items() if matches(recipe, [recipes])]
    return not named or any(programs and matches(program, programs) for programs in named)
