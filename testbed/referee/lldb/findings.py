"""What LLDB was seen to get wrong: on correct tables, and by following instructions where there are none."""

from __future__ import annotations

from testbed.referee.lldb.emulation_limits import WITHOUT_TABLES
from testbed.referee.lldb.limits import WITH_TABLES
from testbed.referee.model import Finding, limit_for
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

FINDINGS = (
    Finding(
        title="LLDB believes the instructions behind a label in a function, not the function's table",
        unwinder="lldb",
        tool="lldb 22.1.8",
        since="2026-11-21",
        program="late_push",
        arch="x86_64",
        recipe="clang-asm",
        at="work+0x6",
        limit=limit_for(WITH_TABLES, Trait.FRAMED_AT_LABEL, Outcome.WRONG, "x86_64"),
    ),
    Finding(
        title="LLDB believes the instructions behind the symbol of a function's cold part, not the table",
        unwinder="lldb",
        tool="lldb 22.1.8",
        since="2026-11-22",
        program="cold_split",
        arch="x86_64",
        recipe="keystone",
        at="work_cold",
        limit=limit_for(WITH_TABLES, Trait.ENTERED_FRAMED, Outcome.PHANTOM, "x86_64"),
    ),
    Finding(
        title="LLDB reads a floating-point register from its slot after DW_CFA_restore_extended took that back",
        unwinder="lldb",
        tool="lldb 22.1.8",
        since="2026-11-21",
        program="callee_saved",
        arch="arm64",
        recipe="clang-asm",
        at="clobber+0xe4",
        limit=limit_for(WITH_TABLES, Trait.VECTOR_RESTORED, Outcome.WRONG_REGISTER, "arm64"),
    ),
    Finding(
        title="LLDB looks a signal's trampoline up one byte before it, and loses the interrupted function",
        unwinder="lldb",
        tool="lldb 22.1.8",
        since="2026-11-21",
        program="signal",
        arch="arm64",
        recipe="clang-asm",
        at="on_signal",
        limit=limit_for(WITH_TABLES, Trait.SIGNAL, Outcome.SKIPPED, "arm64"),
    ),
    Finding(
        title="without tables, LLDB's emulation starts at a label in a function as if that was just entered",
        unwinder="lldb_no_tables",
        tool="lldb 22.1.8",
        since="2026-11-21",
        program="late_push",
        arch="arm64",
        recipe="clang-asm",
        at="work+0x18",
        limit=limit_for(WITHOUT_TABLES, Trait.FRAMED_AT_LABEL, Outcome.WRONG, "arm64"),
    ),
)
