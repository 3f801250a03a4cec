"""What GCC was seen to leave out."""

from __future__ import annotations

from testbed.referee.gcc.limits import ENTRY
from testbed.referee.model import Finding

FINDINGS = (
    Finding(
        title="GCC's .eh_frame begins behind the room to patch at a function's entry",
        unwinder="eh_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="entry_nops",
        arch="arm64",
        recipe="nops-O2",
        at="leaf",
        limit=ENTRY,
    ),
)
