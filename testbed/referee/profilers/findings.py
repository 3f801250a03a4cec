"""What the unwinders that profilers call were seen to get wrong."""

from __future__ import annotations

from testbed.referee.model import Finding
from testbed.referee.profilers.limits import AT_CALLS_ONLY, LOST, OLD_ROWS, PARSER, PC_COLUMN

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
        limit=AT_CALLS_ONLY[0],
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
        limit=LOST,
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
        limit=OLD_ROWS[0],
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
