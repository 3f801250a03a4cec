"""What libunwindstack was seen to get wrong on correct tables."""

from __future__ import annotations

from testbed.contract.unwinder import Limit
from testbed.referee.libunwindstack.limits import BEHIND_SIGNAL, LOST_ENTRY, NARROW_ADDRESSES, NO_CFA
from testbed.referee.model import Finding


def _finding(
    title: str,
    program: str,
    arch: str,
    recipe: str,
    at: str,
    limit: Limit,
    upstream: str = "",
    since: str = "2026-11-22",
) -> Finding:
    return Finding(
        title=title,
        unwinder="libunwindstack",
        tool="libunwindstack 1:29.0.6-28",
        since=since,
        program=program,
        arch=arch,
        recipe=recipe,
        at=at,
        limit=limit,
        upstream=upstream,
    )


FINDINGS = (
    _finding(
        "libunwindstack looks up the instruction before the one that a signal interrupted, and skips that one's caller",
        "signal",
        "arm64",
        "keystone",
        "@47",
        BEHIND_SIGNAL,
    ),
    _finding(
        "libunwindstack finds no row in the .debug_frame of a 64-bit file",
        "inlined_call",
        "arm64",
        "clang-O2-debug_frame",
        "caller+0x14",
        NARROW_ADDRESSES,
        NARROW_ADDRESSES.reference,
    ),
    _finding(
        "libunwindstack evaluates a register's expression without the CFA, and loses the caller",
        "val_expression",
        "x86_64",
        "keystone",
        "helper",
        NO_CFA,
    ),
    _finding(
        "libunwindstack loses the entry of a function that ends where one begins whose entry stands before its own; "
        "newer sources keep it",
        "adjoining",
        "x86_64",
        "gcc-Os",
        "leaf",
        LOST_ENTRY,
        since="2026-11-23",
    ),
)
