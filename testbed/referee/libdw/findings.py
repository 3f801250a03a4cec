"""What libdw was seen to get wrong."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.libdw.limits import LIMITS, RBX_FORGOTTEN, REPEATED
from testbed.referee.limits import limit_on
from testbed.referee.model import Finding
from testbed.words.traits import Trait


def _finding(
    title: str,
    program: str,
    arch: str,
    recipe: str,
    at: str,
    limit: Limit,
    upstream: str = "",
    of_technique: bool = False,
    since: str = "2026-11-21",
) -> Finding:
    return Finding(
        title=title,
        unwinder="libdw",
        tool="libdw 0.188",
        since=since,
        program=program,
        arch=arch,
        recipe=recipe,
        at=at,
        limit=limit,
        upstream=upstream,
        of_technique=of_technique,
    )


FINDINGS = (
    _finding(
        "libdw repeats one frame without end",
        "function_pointers",
        "arm32",
        "clang-thumb-O0",
        "@201",
        REPEATED,
        REPEATED.reference,
    ),
    _finding(
        "libdw takes a caller whose frame the table says is lost for the outermost one",
        "landing_pad",
        "x86_64",
        "keystone",
        "thrower+0xc",
        limit_on(LIMITS, Trait.LOST_REGISTER),
    ),
    _finding(
        "libdw forgets rbx where a callee has no rule for it, and ends the stack where a CFA is counted from it",
        "moved_return",
        "x86_64",
        "keystone",
        "helper",
        RBX_FORGOTTEN,
        since="2026-11-23",
    ),
    _finding(
        "libdw follows the caller's frame pointer in a function without a table, and skips that caller",
        "no_table",
        "x86_64",
        "keystone",
        "framed",
        limit_on(LIMITS, Trait.NO_TABLE),
        of_technique=True,
    ),
)
