"""What clang was seen to write wrongly."""

from __future__ import annotations

from testbed.referee.clang.limits import BEHIND, EPILOGUE, MASKED, PROLOGUE, RESTORED, STORES
from testbed.referee.model import Finding

_SEEN = "clang 22 of ziglang 0.17.0"

FINDINGS = (
    Finding(
        title="clang's .debug_frame for ARM has no rows for epilogues",
        unwinder="debug_frame",
        tool=_SEEN,
        since="2026-11-21",
        program="inlined_call",
        arch="arm32",
        recipe="clang-O0",
        at="leaf+0x2c",
        limit=EPILOGUE,
    ),
    Finding(
        title="clang's .debug_frame for ARM skips the first of two instructions that allocate a frame",
        unwinder="debug_frame",
        tool=_SEEN,
        since="2026-11-21",
        program="big_frame",
        arch="arm32",
        recipe="clang-O1",
        at="big+0x8",
        limit=PROLOGUE,
    ),
    Finding(
        title="clang's .debug_frame for ARM keeps the row of a frame that is gone, on the path behind an epilogue",
        unwinder="debug_frame",
        tool=_SEEN,
        since="2026-11-21",
        program="genc_f8emt1_f",
        arch="arm32",
        recipe="clang-thumb-O2",
        at="@25",
        limit=BEHIND,
    ),
    Finding(
        title="clang's row of a frame with SIMD registers comes behind their stores",
        unwinder="eh_frame",
        tool=_SEEN,
        since="2026-11-22",
        program="simd_saved",
        arch="x86_64",
        recipe="vector-O2",
        at="work+0xb",
        limit=STORES,
    ),
    Finding(
        title="clang's row of an epilogue comes behind the masks of the registers that it loads",
        unwinder="eh_frame",
        tool=_SEEN,
        since="2026-11-22",
        program="masked_return",
        arch="arm64",
        recipe="masked-O2",
        at="main+0x4c",
        limit=MASKED,
    ),
    Finding(
        title="clang's assembler counts .cfi_adjust_cfa_offset from an offset that .cfi_restore_state has taken back",
        unwinder="eh_frame",
        tool=_SEEN,
        since="2026-11-23",
        program="adjusted_again",
        arch="x86_64",
        recipe="clang-asm",
        at="late_room",
        limit=RESTORED,
    ),
)
