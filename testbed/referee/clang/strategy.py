"""The compiler that writes the tables of the C programs: no unwinder, but what believes its tables lies with them.

Its findings are shown by strategies of ours, which read what is there.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from testbed.referee.limits import llvm_arm
from testbed.referee.model import Finding, Found, Referee
from testbed.words.outcome import Outcome

_SEEN = "clang 22 of ziglang 0.17.0"
_EPILOGUE, _PROLOGUE, _BEHIND = llvm_arm(
    epilogue=frozenset({Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG}),
    prologue=frozenset({Outcome.ENDED_EARLY}),
    frameless=frozenset({Outcome.ENDED_EARLY, Outcome.WRONG}),
)


def find() -> Found | None:
    """The compiler inside the `ziglang` wheel."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    try:
        return Found(f"of ziglang {version('ziglang')}", spec.origin)
    except PackageNotFoundError:
        return None


REFEREE = Referee(
    name="clang",
    summary="no unwinder: the compiler that wrote the tables of the C programs",
    package="pip install ziglang",
    find=find,
    unwinders=(),
    findings=(
        Finding(
            title="clang's .debug_frame for ARM has no rows for epilogues",
            unwinder="debug_frame",
            tool=_SEEN,
            since="2026-11-21",
            program="inlined_call",
            arch="arm32",
            recipe="clang-O0",
            at="leaf+0x2c",
            limit=_EPILOGUE,
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
            limit=_PROLOGUE,
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
            limit=_BEHIND,
        ),
    ),
)
