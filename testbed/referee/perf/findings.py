"""What perf was seen to get wrong on correct tables."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.model import Finding
from testbed.referee.perf.limits import POPPED, REMEMBERED, UNSAID_VECTOR_RULE


def _finding(title: str, program: str, recipe: str, at: str, limit: Limit) -> Finding:
    return Finding(
        title=title,
        unwinder="perf",
        tool="perf 6.1.187 with libunwind",
        since="2026-11-22",
        program=program,
        arch="x86_64",
        recipe=recipe,
        at=at,
        limit=limit,
    )


FINDINGS = (
    _finding(
        "perf loses all callers but one at the return of a function with a frame pointer",
        "function_pointers",
        "clang-O1-fp",
        "twice+0xe",
        POPPED,
    ),
    _finding(
        "perf uses a remembered row of another function at an instruction to which a return address led before",
        "coroutine",
        "keystone",
        "@24",
        REMEMBERED,
    ),
    _finding(
        "perf ends the stack at a function that saves vector registers",
        "simd_saved",
        "vector-O2",
        "work+0x56",
        UNSAID_VECTOR_RULE,
    ),
)
