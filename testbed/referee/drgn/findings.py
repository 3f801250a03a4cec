"""What drgn was seen to get wrong on correct tables."""

from __future__ import annotations

from testbed.referee.drgn.limits import THUMB, UNREAD
from testbed.referee.model import Finding

DRGN = "drgn 0.3.0"


FINDINGS = (
    Finding(
        "drgn looks up Thumb return addresses behind the call: in another function, where the call is the last thing",
        "drgn_debug_frame",
        DRGN,
        "2026-11-21",
        "noreturn_last_call",
        "arm32",
        "clang-thumb-O0",
        "finish",
        THUMB,
    ),
    Finding(
        "drgn refuses every table of a file with functions that sign their return address with the B key",
        "drgn",
        DRGN,
        "2026-11-21",
        "pac_ret",
        "arm64",
        "keystone",
        "leaf",
        UNREAD,
    ),
)
