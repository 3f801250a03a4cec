"""What the unwinders that profilers call were seen to get wrong."""

from __future__ import annotations

from testbed.referee.model import Finding, limit_for
from testbed.referee.profilers.limits import AT_CALLS_ONLY, LOST, OLD_ROWS, PARSER, PC_COLUMN
from testbed.referee.profilers.nongnu_limits import BEHIND_THE_CALL, NO_CODE, SHADOW_STACK, SIGNED
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

OF_LIBGCC = (
    Finding(
        title="libgcc aborts the process at a signal's frame whose return address is in column 32, PC",
        unwinder="libgcc_backtrace",
        tool="GCC 12.2.0",
        since="2026-11-21",
        program="signal",
        arch="arm64",
        recipe="clang-asm",
        at="on_signal",
        limit=PC_COLUMN,
    ),
    Finding(
        title="libgcc, called in a signal handler on ARM, ends the process that was interrupted in a prologue",
        unwinder="libgcc_backtrace",
        tool="GCC 12.2.0",
        since="2026-11-21",
        program="leaf_call",
        arch="arm32",
        recipe="clang-asm",
        at="main+0x4",
        limit=limit_for(AT_CALLS_ONLY, Trait.PROLOGUE, Outcome.CRASHED, "arm32"),
        upstream="https://github.com/gperftools/gperftools/issues/784",
        of_technique=True,
    ),
    Finding(
        title="libgcc goes on with the old value of a register that the table calls lost, and leaves out a caller",
        unwinder="libgcc_backtrace",
        tool="GCC 12.2.0",
        since="2026-11-21",
        program="longjmp",
        arch="arm64",
        recipe="clang-asm",
        at="long_jump+0x2c",
        limit=LOST[0],
    ),
)

OF_LLVM = (
    Finding(
        title="LLVM libunwind, called in a signal handler, ends the process that was interrupted at a ret",
        unwinder="llvm_backtrace",
        tool="LLVM 22.1.8 (ziglang 0.17.0)",
        since="2026-11-21",
        program="leaf_call",
        arch="x86_64",
        recipe="clang-asm",
        at="main+0xf",
        limit=OLD_ROWS[0],
        upstream="https://github.com/ClickHouse/ClickHouse/issues/63855",
    ),
    Finding(
        title="LLVM libunwind, called in a signal handler, leaves out the caller of a function that is at its ret",
        unwinder="llvm_backtrace",
        tool="LLVM 22.1.8 (ziglang 0.17.0)",
        since="2026-11-21",
        program="leaf_call",
        arch="arm64",
        recipe="clang-asm",
        at="leaf+0x14",
        limit=limit_for(OLD_ROWS, Trait.ROW_BEGINS, Outcome.SKIPPED, "arm64"),
        upstream=PARSER,
    ),
    Finding(
        title="LLVM libunwind, called in a signal handler, takes main for the root one instruction after its entry",
        unwinder="llvm_backtrace",
        tool="LLVM 22.1.8 (ziglang 0.17.0)",
        since="2026-11-21",
        program="leaf_call",
        arch="x86_64",
        recipe="clang-asm",
        at="main+0x1",
        limit=OLD_ROWS[0],
        upstream=PARSER,
    ),
)

OF_NONGNU = (
    Finding(
        title="libunwind on arm64 takes what x30 holds for the return address where a function has signed its own",
        unwinder="nongnu_backtrace",
        tool="libunwind 1.6.2",
        since="2026-11-22",
        program="pac_ret",
        arch="arm64",
        recipe="keystone",
        at="leaf+0x8",
        limit=SIGNED,
    ),
    Finding(
        title="libunwind on arm64 loses the second caller in code with a shadow call stack",
        unwinder="nongnu_backtrace",
        tool="libunwind 1.6.2",
        since="2026-11-22",
        program="function_pointers",
        arch="arm64",
        recipe="clang-O2-scs",
        at="apply+0xc",
        limit=SHADOW_STACK,
    ),
    Finding(
        title="libunwind on arm64, in a signal handler, ends the process that has called a null pointer",
        unwinder="nongnu_backtrace",
        tool="libunwind 1.6.2",
        since="2026-11-22",
        program="null_call",
        arch="arm64",
        recipe="keystone",
        at="@11",
        limit=NO_CODE,
    ),
    Finding(
        title="libunwind on arm32 looks up a return address behind the call, in the next function's entry",
        unwinder="nongnu_backtrace_exidx",
        tool="libunwind 1.6.2",
        since="2026-11-22",
        program="noreturn_last_call",
        arch="arm32",
        recipe="gcc-O2",
        at="@13",
        limit=BEHIND_THE_CALL,
    ),
)
