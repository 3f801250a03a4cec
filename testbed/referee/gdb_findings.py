"""What gdb was seen to get wrong: on correct tables, and by its analysers where there are none."""

from __future__ import annotations

from testbed.outcome import Outcome
from testbed.referee.gdb_limits import WITH_TABLES, WITHOUT_TABLES
from testbed.referee.model import Finding
from testbed.traits import Trait
from testbed.unwinder import Limit


def _limit(limits: tuple[Limit, ...], trait: Trait, arch: str, outcome: Outcome) -> Limit:
    """The limit of a mode that explains a finding."""
    return next(
        limit
        for limit in limits
        if limit.trait is trait and outcome in limit.outcomes and (limit.arches is None or arch in limit.arches)
    )


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
        limit=_limit(WITH_TABLES, Trait.CODE_POINTER, "x86_64", Outcome.WRONG),
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
        limit=_limit(WITHOUT_TABLES, Trait.FRAMELESS, "x86_64", Outcome.ENDED_EARLY),
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
        limit=_limit(WITHOUT_TABLES, Trait.CALLED, "x86_64", Outcome.WRONG_REGISTER),
        upstream="https://gnu.googlesource.com/binutils-gdb/+/f9aa48dc545ef511e19f4dfab88a196b820fd2da",
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
        limit=_limit(WITHOUT_TABLES, Trait.EPILOGUE, "arm64", Outcome.SKIPPED),
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
        limit=_limit(WITHOUT_TABLES, Trait.EPILOGUE, "arm32", Outcome.WRONG),
    ),
)
