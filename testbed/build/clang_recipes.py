"""The recipes of clang for code and tables of other kinds than most programs have, and of another clang."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.build.recipe import Recipe, Tool
from testbed.words.traits import Trait

_OMITTED = frozenset({Trait.FP_OMITTED})
_NO_POINTER = "-fomit-frame-pointer"
_POINTER = "-fno-omit-frame-pointer"
_ASYNCHRONOUS = "-fasynchronous-unwind-tables"
_SYNCHRONOUS = ("-fno-asynchronous-unwind-tables", "-funwind-tables")
_NO_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g0")
_WITH_EH_FRAME = frozenset({"x86_64", "arm64"})  # 32-bit Arm's .ARM.exidx holds at calls only, by design


def levels() -> Iterator[Recipe]:
    """The smallest code, and the most optimised."""
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        for level, arches in (("O3", None), ("Oz", frozenset({"x86_64", "arm32"}))):
            yield Recipe(
                name=f"clang{infix}-{level}",
                summary=f"clang 22 -{level}, no frame pointers, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.CLANG,
                isa=isa,
                arches=arches,
                flags=(f"-{level}", _NO_POINTER, _ASYNCHRONOUS),
                traits=_OMITTED,
            )
    yield Recipe(
        name="clang-Oz-sync",
        summary="clang 22 -Oz, no frame pointers, synchronous tables although asynchronous ones are asked for",
        tool=Tool.CLANG,
        isa="arm64",  # where LLVM takes epilogue rows for too large at this level
        flags=("-Oz", _NO_POINTER, _ASYNCHRONOUS),
        traits=_OMITTED | {Trait.SYNCHRONOUS},
    )


def frame_pointers() -> Iterator[Recipe]:
    """Frame pointers in leaves too, and the one chain through both instruction sets of 32-bit Arm."""
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        yield Recipe(
            name=f"clang{infix}-O2-leaf-fp",
            summary=f"clang 22 -O2, frame pointers in leaves too, asynchronous tables{', Thumb' if isa else ''}",
            tool=Tool.CLANG,
            isa=isa,
            flags=("-O2", _POINTER, "-mno-omit-leaf-frame-pointer", _ASYNCHRONOUS),
        )
    yield Recipe(
        name="clang-thumb-O2-aapcs",
        summary="clang 22 -O2, AAPCS frame records in r11, in leaves too, asynchronous tables, Thumb",
        tool=Tool.CLANG,
        isa="thumb",
        flags=("-O2", _POINTER, "-mframe-chain=aapcs+leaf", _ASYNCHRONOUS),
        frame_records={"thumb": "r11-clang"},
    )


def tables() -> Iterator[Recipe]:
    """Tables that hold at calls only, as C++ needs them, and none at all."""
    for suffix, words, flag, traits in (
        ("", "no frame pointers", _NO_POINTER, _OMITTED),
        ("-fp", "frame pointers", _POINTER, frozenset[Trait]()),
    ):
        yield Recipe(
            name=f"clang-O2{suffix}-sync",
            summary=f"clang 22 -O2, {words}, synchronous tables",
            tool=Tool.CLANG,
            arches=_WITH_EH_FRAME,
            flags=("-O2", flag, *_SYNCHRONOUS),
            traits=traits | {Trait.SYNCHRONOUS},
        )
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        for suffix, words, flag, traits in (
            ("", "no frame pointers", _NO_POINTER, _OMITTED),
            ("-fp", "frame pointers", _POINTER, frozenset[Trait]()),
        ):
            yield Recipe(
                name=f"clang{infix}-O2{suffix}-bare",
                summary=f"clang 22 -O2, {words}, no tables but the start code's{', Thumb' if isa else ''}",
                tool=Tool.CLANG,
                isa=isa,
                flags=("-O2", flag, *_NO_TABLES),
                # On 32-bit Arm the index then says of every function that it cannot be unwound.
                traits=traits | {Trait.NO_TABLE, Trait.CANNOT_UNWIND, Trait.NOT_KEPT},
            )


def other_clang() -> Iterator[Recipe]:
    """Another generation of clang, where somebody has named one."""
    for isa, infix in ((None, ""), ("thumb", "-thumb")):
        for suffix, words, flags, traits in (
            ("O0-fp", "-O0, frame pointers", ("-O0", _POINTER), frozenset[Trait]()),
            ("O2", "-O2, no frame pointers", ("-O2", _NO_POINTER), _OMITTED),
            ("O2-fp", "-O2, frame pointers", ("-O2", _POINTER), frozenset[Trait]()),
            ("Os", "-Os, no frame pointers", ("-Os", _NO_POINTER), _OMITTED),
        ):
            yield Recipe(
                name=f"clang-other{infix}-{suffix}",
                summary=f"TESTBED_OTHER_ZIG's clang {words}, asynchronous tables{', Thumb' if isa else ''}",
                tool=Tool.OTHER_CLANG,
                isa=isa,
                flags=(*flags, _ASYNCHRONOUS),
                traits=traits,
            )
