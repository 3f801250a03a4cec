"""The recipes for what distributions and phones harden code with; for exception tables, and for outlined prologues."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.build.recipe import Recipe, Tool
from testbed.words.traits import Trait

_ARM64, _X86_64, _ARM32 = frozenset({"arm64"}), frozenset({"x86_64"}), frozenset({"arm32"})
_BOTH = _ARM64 | _X86_64
_POINTER, _NO_POINTER = "-fno-omit-frame-pointer", "-fomit-frame-pointer"
_SIGNING = "-mbranch-protection=pac-ret+leaf"
_OUTLINED = ("-mllvm", "-homogeneous-prolog-epilog", "-mllvm", "-frame-helper-size-threshold=2")
_GUARD = ("-fstack-protector-all", "-mstack-protector-guard=global")


def for_any_program() -> Iterator[Recipe]:
    """What needs nothing of a program."""
    for name, what, arches, pointer, flag in (
        ("pac", "no frame pointers, signed return addresses, branch targets", _ARM64, _NO_POINTER, f"{_SIGNING}+bti"),
        ("fp-pac", "frame pointers, return addresses signed with key B", _ARM64, _POINTER, f"{_SIGNING}+b-key"),
        ("cet", "no frame pointers, branch targets (CET)", _X86_64, _NO_POINTER, "-fcf-protection=full"),
    ):
        yield Recipe(
            name=f"clang-O2-{name}",
            summary=f"clang 22 -O2, {what}",
            tool=Tool.CLANG,
            arches=arches,
            flags=("-O2", pointer, "-fasynchronous-unwind-tables", flag),
            traits=frozenset({Trait.FP_OMITTED if pointer == _NO_POINTER else Trait.B_KEY}),
            cpu="signing" if arches is _ARM64 else None,
        )


def for_some_programs() -> Iterator[Recipe]:
    """What a few programs show, or what needs a run-time library that only they bring."""
    for name, what, arches, flags in (
        ("probes-O2", "stack-clash protection", _BOTH, ("-fstack-clash-protection",)),
        ("guard-O2", "stack protector", None, _GUARD),
        ("eh-Os", "exception tables", _BOTH, ("-fexceptions",)),
        ("outline-Oz", "prologues and epilogues outlined", _ARM64, _OUTLINED),
    ):
        level = name.partition("-")[2]
        yield Recipe(
            name=name,
            summary=f"clang 22 -{level}, no frame pointers, {what}",
            tool=Tool.CLANG,
            arches=arches,
            flags=(f"-{level}", _NO_POINTER, "-fasynchronous-unwind-tables", *flags),
            traits=frozenset({Trait.FP_OMITTED}),
            opt_in=True,
            by_name=True,
        )
    yield Recipe(
        name="apcs-O0",
        summary="GCC 12 -O0, frames of the old procedure call standard",
        tool=Tool.GCC,
        arches=_ARM32,
        flags=("-O0", "-mapcs-frame", "-fasynchronous-unwind-tables"),
        frame_records={"a32": "r11-apcs"},
        opt_in=True,
        by_name=True,
    )
    yield from _with_defects()


def _with_defects() -> Iterator[Recipe]:
    """Compilers and flags whose tables are wrong at some instructions: programs show where."""
    none = ("-O2", _NO_POINTER)
    for name, what, tool, arches, flags in (
        (
            "masked-O2",
            "clang 22 -O2, no frame pointers, what a misprediction loads is masked",
            Tool.CLANG,
            _ARM64,
            (*none, "-mspeculative-load-hardening"),
        ),
        ("vector-O2", "clang 22 -O2, no frame pointers, functions that save SIMD registers", Tool.CLANG, _X86_64, none),
        (
            "nops-O2",
            "GCC 12 -O2, no frame pointers, room to patch at each entry",
            Tool.GCC,
            _ARM64,
            (*none, "-fpatchable-function-entry=2"),
        ),
        (
            "thunk-O2",
            "GCC 12 -O2, no frame pointers, returns through a thunk",
            Tool.GCC,
            _X86_64,
            (*none, "-mfunction-return=thunk"),
        ),
        (
            "inline-thunk-O0-fp",
            "GCC 12 -O0, frame pointers, returns through a thunk of each function's own",
            Tool.GCC,
            _X86_64,
            ("-O0", _POINTER, "-mfunction-return=thunk-inline"),
        ),
        (
            "profiled-O2",
            "GCC 12 -O2, no frame pointers, every function calls the profiler first",
            Tool.GCC,
            _ARM32,
            ("-O2", "-pg"),  # which GCC does not take beside -fomit-frame-pointer
        ),
        (
            "apcs-O2",
            "GCC 12 -O2, frames of the old procedure call standard, none in leaves",
            Tool.GCC,
            _ARM32,
            (*none, "-mapcs-frame"),
        ),
    ):
        yield Recipe(
            name=name,
            summary=what,
            tool=tool,
            arches=arches,
            flags=(*flags, "-fasynchronous-unwind-tables"),
            traits=frozenset({Trait.FP_OMITTED} if _NO_POINTER in flags or name.startswith("profiled") else ()),
            frame_records={"a32": "r11-apcs"} if name.startswith("apcs") else {},
            opt_in=True,
            by_name=True,
        )
