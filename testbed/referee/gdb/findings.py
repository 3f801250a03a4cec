"""What gdb was seen to get wrong: on correct tables, and by its analysers where there are none."""

from __future__ import annotations

from testbed.referee.gdb.analyser_limits import WITHOUT_TABLES
from testbed.referee.gdb.limits import WITH_TABLES
from testbed.referee.model import Finding, limit_for
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

FINDINGS = (
    Finding(
        title="at a ret, gdb believes that a function has no frame left, whatever its table says",
        unwinder="gdb",
        tool="gdb 13.1",
        since="2026-11-21",
        program="push_ret",
        arch="x86_64",
        recipe="clang-asm",
        at="work+0x8",
        limit=limit_for(WITH_TABLES, Trait.CODE_POINTER, Outcome.WRONG, "x86_64"),
        upstream="https://github.com/rr-debugger/rr/pull/2781",
    ),
    Finding(
        title="without tables, gdb's amd64 analyser loses the caller of a function that pushes before it calls",
        unwinder="gdb_no_tables",
        tool="gdb 13.1",
        since="2026-11-21",
        program="hoisted_add",
        arch="x86_64",
        recipe="clang-asm",
        at="choose+0x4",
        limit=limit_for(WITHOUT_TABLES, Trait.FRAMELESS, Outcome.ENDED_EARLY, "x86_64"),
        of_technique=True,
    ),
    Finding(
        title="without tables, gdb's amd64 analyser shows a saved register of the caller as it is in the callee",
        unwinder="gdb_no_tables",
        tool="gdb 13.1",
        since="2026-11-21",
        program="early_return",
        arch="x86_64",
        recipe="clang-asm",
        at="classify+0xc",
        limit=limit_for(WITHOUT_TABLES, Trait.CHANGED, Outcome.WRONG_REGISTER, "x86_64"),
        upstream="https://gnu.googlesource.com/binutils-gdb/+/f9aa48dc545ef511e19f4dfab88a196b820fd2da",
        of_technique=True,
    ),
    Finding(
        title="without tables, gdb's AArch64 analyser skips the caller at a ret whose frame is already gone",
        unwinder="gdb_no_tables",
        tool="gdb 13.1",
        since="2026-11-21",
        program="tail_call",
        arch="arm64",
        recipe="clang-asm",
        at="target+0x14",
        limit=limit_for(WITHOUT_TABLES, Trait.EPILOGUE, Outcome.SKIPPED, "arm64"),
        of_technique=True,
    ),
    Finding(
        title="without tables, at pop {.., pc} gdb's Thumb epilogue unwinder reads a saved register as pc",
        unwinder="gdb_no_tables",
        tool="gdb 13.1",
        since="2026-11-21",
        program="early_return",
        arch="arm32",
        recipe="clang-asm-thumb",
        at="main+0x1a",
        limit=limit_for(WITHOUT_TABLES, Trait.EPILOGUE, Outcome.WRONG, "arm32"),
    ),
)
