"""Tables that compilers are known to write wrongly with some flags: where, in a run, so that only the rest is news.

A program with such a flag is run once; its table is held against the run, and the instructions at which it is wrong are
declared, as the header of a program of the corpus declares them. All other flags keep every difference unexplained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from testbed.build.recipe import Recipe, Tool
from testbed.checks.native.codes import NO_ROW
from testbed.checks.pc_checks import by_pc
from testbed.checks.row_checks import check_rows
from testbed.checks.row_columns import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.generate.c_runtime import CONVENTION, VECTORS
from testbed.program.header import Header, Span
from testbed.program.model import Program
from testbed.runs.run import Run

TABLES = ("eh_frame", "debug_frame")  # strategies that have a compiler's own rows


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A compiler's mistake: with a flag that begins with one of ``flags``, on these instruction sets.

    ``program`` is the one of the corpus that shows it, and ``mistake`` what it is. Where a ``callee`` is called, the
    row is wrong of the caller, although it may be right before the call and after it.
    """

    tool: Tool
    isas: frozenset[str]
    flags: tuple[str, ...]
    program: str
    mistake: str
    callee: str = ""


_X86_64, _ARM32 = frozenset({"x86_64"}), frozenset({"a32", "thumb"})
_ARM = _ARM32 | {"arm64"}

KNOWN_DEFECTS = (
    KnownDefect(
        Tool.GCC,
        _ARM,
        ("-fpatchable-function-entry",),
        "entry_nops",
        "rows begin behind the room to patch at an entry",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-mfunction-return=thunk",),
        "return_thunk",
        "the row of a thunk's last instruction counts a word that is gone",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-mstackrealign", "-mforce-drap"),
        "realigned_calls",
        "rows of a realigned frame count from a frame pointer that is popped",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-frename-registers", "-funroll-loops"),
        "renamed_drap",
        "a realigned frame's epilogue has the caller's SP in another register than its row",
    ),
    KnownDefect(
        Tool.GCC,
        _ARM32,
        ("-pg",),
        "profiled",
        "no row counts the word pushed before a profiler's call; a leaf's says there that lr has the return address",
        "__gnu_mcount_nc",
    ),
    KnownDefect(
        Tool.GCC,
        frozenset({"a32"}),
        ("-mapcs-frame",),
        "apcs_tail_call",
        "the row of a tail call's jump counts the words that the load of the caller's SP has taken with it",
    ),
    KnownDefect(
        Tool.CLANG,
        _X86_64,
        (CONVENTION, VECTORS),
        "simd_saved",
        "the row of a frame with SIMD registers comes behind their stores",
    ),
    KnownDefect(
        Tool.CLANG,
        frozenset({"arm64"}),
        ("-mspeculative-load-hardening",),
        "masked_return",
        "the row of an epilogue comes behind the masks of the registers that it loads",
    ),
)


def known_defects(recipe: Recipe, isa: str, flags: Sequence[str]) -> tuple[KnownDefect, ...]:
    """The mistakes that may show in what this recipe builds with these flags."""
    return tuple(
        known
        for known in KNOWN_DEFECTS
        if known.tool is recipe.tool and isa in known.isas and any(flag.startswith(known.flags) for flag in flags)
    )


def declared(
    program: Program,
    run: Run,
    unwinders: Sequence[Unwinder],
    known: Sequence[KnownDefect],
    evaluate: Evaluate | None = None,
) -> Program:
    """The program, with headers that say where the tables of a run of it are wrong or have no row.

    ``evaluate`` computes DWARF expressions, as realigned frames have them; without it they are not tried.
    """
    wrong, untabled = _wrong_spans(run, unwinders, [each.callee for each in known if each.callee], evaluate)

    def said(header: Header) -> Header:
        return replace(header, wrong=(*header.wrong, *wrong), untabled=(*header.untabled, *untabled))

    sources = {key: replace(source, header=said(source.header)) for key, source in program.sources.items()}
    return replace(program, sources=MappingProxyType(sources))


def _wrong_spans(
    run: Run, unwinders: Sequence[Unwinder], callees: Sequence[str], evaluate: Evaluate | None
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The instructions at which a table's row is wrong, and those without one."""
    image = run.built.image
    loaded = next(each for each in run.trace.images if each.image is image)
    pcs = run.trace.pc - np.uint64(loaded.bias)
    sizes = dict(zip(pcs.tolist(), run.trace.sizes.tolist(), strict=True))
    entries = [symbol.address for symbol in image.symbols if symbol.name in callees]
    wrong = set[int](pcs[:-1][np.isin(pcs[1:], np.array(entries, np.uint64))].tolist())
    untabled = set[int]()
    for unwinder in unwinders:
        if unwinder.name in TABLES and unwinder.rows is not None and unwinder.applies_to(image):
            checks = by_pc(check_rows(run.watched, unwinder.rows(image), loaded, evaluate=evaluate))
            missing = checks.some == NO_ROW
            untabled |= set(checks.pc[missing].tolist())
            wrong |= set(checks.pc[(checks.wrong > 0) & ~missing].tolist())

    def spans(places: set[int]) -> tuple[Span, ...]:
        return tuple(Span(_place(run, pc), _place(run, pc, sizes[pc]), 0) for pc in sorted(places))

    return spans(wrong), spans(untabled)


def _place(run: Run, pc: int, size: int = 0) -> str:
    """An instruction, or its end, as a header spells it; ``pc`` is a link-time one."""
    before = [symbol for symbol in run.built.image.symbols if symbol.name and symbol.address <= pc]
    symbol = max(before, key=lambda each: each.address)  # thunks have symbols without a size
    return f"{symbol.name}+{pc + size - symbol.address:#x}"
