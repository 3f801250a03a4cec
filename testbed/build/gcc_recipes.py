"""The recipes of GCC 12 and GNU binutils: not one compiler, assembler and linker made all the code."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.build.recipe import Recipe, Tool
from testbed.words.traits import Trait

_OMITTED = frozenset({Trait.FP_OMITTED})
_TABLES = "-fasynchronous-unwind-tables"
_SFRAME = "-Wa,--gsframe"
_WITH_SFRAME = frozenset({"x86_64", "arm64"})  # what binutils 2.40 writes it for


def gcc_recipes() -> Iterator[Recipe]:
    """GCC's recipes in catalogue order: those that assemble, those that compile, SFrame."""
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        yield Recipe(
            name=f"gcc-asm{infix}",
            summary=f"GNU as and ld{', Thumb' if isa else ''}",
            tool=Tool.GNU_ASSEMBLY,
            isa=isa,
        )
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        for level in ("O0", "O2", "O3", "Os"):
            yield Recipe(
                name=f"gcc{infix}-{level}",
                summary=f"GCC 12 -{level}, no frame pointers, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.GCC,
                isa=isa,
                flags=(f"-{level}", "-fomit-frame-pointer", _TABLES),
                traits=_OMITTED,
            )
            yield Recipe(
                name=f"gcc{infix}-{level}-fp",
                summary=f"GCC 12 -{level}, frame pointers, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.GCC,
                isa=isa,
                flags=(f"-{level}", "-fno-omit-frame-pointer", _TABLES),
                # A32: r11 points at the saved lr, in a leaf at the saved r11. Thumb: r7 points below the locals.
                traits=frozenset({Trait.NO_RECORD if isa else Trait.LEAF_RECORD}),
                frame_records={"a32": "r11-gcc"},
            )
    for suffix, words, flag, traits in (
        ("", "no frame pointers", "-fomit-frame-pointer", _OMITTED),
        ("-fp", "frame pointers", "-fno-omit-frame-pointer", frozenset[Trait]()),
    ):
        yield Recipe(
            name=f"gcc-O2{suffix}-sframe",
            summary=f"GCC 12 -O2, {words}, asynchronous tables, SFrame version 1",
            tool=Tool.GCC,
            arches=_WITH_SFRAME,
            flags=("-O2", flag, _TABLES, _SFRAME),
            traits=traits | {Trait.UNSAID_END},
        )
