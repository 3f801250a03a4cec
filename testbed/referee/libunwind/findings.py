"""What nongnu libunwind was seen to get wrong."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.libunwind.library import ARCH
from testbed.referee.libunwind.limits import LIMITS, SP_AT_RECORD, STALE_ROW, VECTOR_RULE
from testbed.referee.limits import limit_on
from testbed.referee.model import Finding
from testbed.words.traits import Trait


def _finding(
    title: str,
    program: str,
    at: str,
    limit: Limit,
    upstream: str = "",
    recipe: str = "keystone",
    since: str = "2026-11-21",
    of_technique: bool = False,
) -> Finding:
    return Finding(
        title=title,
        unwinder="libunwind",
        tool="libunwind 1.6.2",
        since=since,
        program=program,
        arch=ARCH,
        recipe=recipe,
        at=at,
        limit=limit,
        upstream=upstream,
        of_technique=of_technique,
    )


FINDINGS = (
    _finding(
        "libunwind takes the row of a return address for the instruction that lies there",
        "callee_pops",
        "work_popped",
        STALE_ROW,
        STALE_ROW.reference,
    ),
    _finding(
        "libunwind follows the caller's frame pointer in a function without a table, and skips that caller",
        "no_table",
        "framed",
        limit_on(LIMITS, Trait.NO_TABLE),
        "https://github.com/libunwind/libunwind/pull/996",
        of_technique=True,
    ),
    _finding(
        "libunwind, following a frame pointer, gives the caller a wrong SP",
        "mutual_recursion",
        "even+0x6",
        SP_AT_RECORD,
        recipe="clang-O2-fp-bare",
    ),
    _finding(
        "libunwind ends the stack at a call through a null pointer",
        "null_call",
        "on_fault+0x4",
        limit_on(LIMITS, Trait.NO_CODE),
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    _finding(
        "libunwind refuses a function that saves vector registers: its rows have rules for them",
        "simd_saved",
        "work+0x56",
        VECTOR_RULE,
        recipe="vector-O2",
        since="2026-11-22",
    ),
    _finding(
        "libunwind takes a caller whose frame the table says is lost for the outermost one",
        "landing_pad",
        "thrower+0xc",
        limit_on(LIMITS, Trait.LOST_REGISTER),
    ),
)
