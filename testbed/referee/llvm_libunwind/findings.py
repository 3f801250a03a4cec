"""What LLVM's libunwind was seen to get wrong."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.limits import limit_on
from testbed.referee.llvm_libunwind.limits import EXACT_PC, LIMITS, ONE_WORD_HIGH, ROW_BEFORE_SIGNAL, ROW_BEFORE_TOP
from testbed.referee.model import Finding
from testbed.words.traits import Trait


def _finding(
    title: str,
    unwinder: str,
    program: str,
    arch: str,
    recipe: str,
    at: str,
    limit: Limit,
    of_technique: bool = False,
) -> Finding:
    return Finding(
        title=title,
        unwinder=unwinder,
        tool="LLVM libunwind of ziglang 0.17.0",
        since="2026-11-21",
        program=program,
        arch=arch,
        recipe=recipe,
        at=at,
        limit=limit,
        upstream=limit.reference if limit.reference == EXACT_PC else "",
        of_technique=of_technique,
    )


FINDINGS = (
    _finding(
        "LLVM libunwind takes an interrupted pc for a return address when it chooses the row",
        "llvm_libunwind",
        "leaf_call",
        "arm64",
        "keystone",
        "leaf+0x14",
        ROW_BEFORE_TOP,
    ),
    _finding(
        "LLVM libunwind does the same to an interrupted frame behind a signal frame",
        "llvm_libunwind_exact",
        "signal",
        "arm64",
        "keystone",
        "@46",
        ROW_BEFORE_SIGNAL,
    ),
    _finding(
        "LLVM libunwind gives a register that the table calls undefined a value: zero",
        "llvm_libunwind_exact",
        "longjmp",
        "x86_64",
        "keystone",
        "long_jump+0x5",
        limit_on(LIMITS, Trait.LOST_REGISTER),
    ),
    _finding(
        "LLVM libunwind ends the stack without an error where no table covers a function",
        "llvm_libunwind_exact",
        "no_table",
        "arm64",
        "keystone",
        "framed",
        limit_on(LIMITS, Trait.NO_TABLE),
        of_technique=True,
    ),
    _finding(
        "LLVM libunwind reads the saved registers of a frameless arm64 function one word too high",
        "llvm_libunwind_compact",
        "busy_leaf",
        "arm64",
        "macho-O2",
        "busy+0x8",
        ONE_WORD_HIGH,
    ),
)
