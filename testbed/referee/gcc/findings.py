"""What GCC was seen to leave out."""

from __future__ import annotations

from testbed.referee.gcc.limits import ENTRY, IN_STEPS, INLINE_THUNK, POPPED, PROFILED, THUNK
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
    Finding(
        title="GCC's row of a return thunk's last instruction counts a word that is gone",
        unwinder="eh_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="return_thunk",
        arch="x86_64",
        recipe="thunk-O2",
        at="__x86_return_thunk+0x11",
        limit=THUNK,
    ),
    Finding(
        title="GCC's rows in an inline return thunk look for the frame pointer in a word that the thunk overwrites",
        unwinder="eh_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="return_thunk_inline",
        arch="x86_64",
        recipe="inline-thunk-O0-fp",
        at="leaf+0x1a",
        limit=INLINE_THUNK,
    ),
    Finding(
        title="GCC's .debug_frame for ARM leaves out the word that is pushed before a profiler's call",
        unwinder="debug_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="profiled",
        arch="arm32",
        recipe="profiled-O2",
        at="leaf+0x4",
        limit=PROFILED,
    ),
    Finding(
        title="GCC's Thumb rows count a large frame as whole where one of two instructions has given it back",
        unwinder="debug_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="big_frame",
        arch="arm32",
        recipe="gcc-thumb-O2",
        at="big+0x36",
        limit=IN_STEPS,
    ),
    Finding(
        title="GCC's rows of a realigned frame count from a frame pointer that is popped already",
        unwinder="eh_frame",
        tool="GCC 12",
        since="2026-11-22",
        program="realigned_calls",
        arch="x86_64",
        recipe="gcc-O2",
        at="work+0x59",
        limit=POPPED,
        upstream="https://gcc.gnu.org/bugzilla/show_bug.cgi?id=99334",
    ),
)
