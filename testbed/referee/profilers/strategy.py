"""Three unwinders as profilers call them, executed at each snapshot: libgcc's, glibc's ``backtrace``, LLVM's.

All three were made for exceptions and believe what they are told: a wrong word on the way is read, not checked, and the
read may be the end of the profiled process. That end is counted as ``crashed``.
"""

from __future__ import annotations

from functools import partial

from testbed.arch import ARCHES
from testbed.contract.unwinder import Limit, Unwinder
from testbed.referee.limits import in_no_file
from testbed.referee.llvm_libunwind.limits import NO_ROW_FOR_THE_CALLER, ROW_BEFORE_WRONG
from testbed.referee.model import Finding, Found, Referee
from testbed.referee.process.every_register import all_recorded, with_every_register
from testbed.referee.profilers import limits, nongnu_limits
from testbed.referee.profilers.agent import (
    GLIBC,
    LIBGCC,
    LIBGCC_FORCED,
    LLVM,
    LLVM_FORCED,
    NONGNU,
    NONGNU_PACKAGES,
    AgentLibrary,
    found_for,
)
from testbed.referee.profilers.in_handler import executed
from testbed.referee.profilers.limits import (
    AT_CALLS_ONLY,
    AT_CALLS_ONLY_FURTHER_OUT,
    BELIEVED,
    BELIEVED_BY_LLVM,
    CANNOT_UNWIND,
    END_AT_THE_END,
    ERROR_AT_THE_END,
    NO_END,
    NOT_TOLD,
    NOT_TOLD_BY_FORCE,
    NOT_TOLD_ON_ARM,
    OLD_ROW_FURTHER_IN,
    OLD_ROW_INSIDE,
    OLD_ROWS,
    PC_COLUMN,
    PC_COLUMN_UNLISTED,
    SILENT_END,
)
from testbed.referee.profilers.nongnu_limits import NONGNU_EXIDX_LIMITS, NONGNU_LIMITS
from testbed.referee.read_findings import read_findings
from testbed.words.outcome import Outcome

FINDINGS = read_findings(__file__, limits, nongnu_limits)


def _found(source: AgentLibrary) -> Found | None:
    return next((found for arch in ARCHES.values() if (found := found_for(source, arch))), None)


def _tool(source: AgentLibrary) -> str:
    """Which versions there are, each once; an architecture for which there is none says nothing."""
    there = [found for arch in ARCHES.values() if (found := found_for(source, arch))]
    return "; ".join(dict.fromkeys(str(found) for found in there))


def _forced(source: AgentLibrary, summary: str, *limits: Limit) -> Unwinder:
    """How EHABI's unwinders say where the stack ends: only by force are they asked for more than callers."""
    return Unwinder(
        name=source.name,
        summary=summary,
        unwind=with_every_register(partial(executed, source), all_recorded),
        arches=frozenset({"arm32"}),
        needs=frozenset({".ARM.exidx"}),
        limits=(
            in_no_file(Outcome.REFUSED, Outcome.ENDED_EARLY),
            *BELIEVED,
            *AT_CALLS_ONLY,
            *limits,
            NOT_TOLD_BY_FORCE,
        ),
        tool=partial(_tool, source),
    )


def _shown_by(*unwinders: str) -> tuple[Finding, ...]:
    return tuple(finding for finding in FINDINGS if finding.unwinder in unwinders)


def _referee(
    source: AgentLibrary,
    summary: str,
    package: str,
    limits: tuple[Limit, ...],
    *others: Unwinder,
) -> Referee:
    name = f"{source.name}_backtrace"
    unwinder = Unwinder(
        name=name,
        summary=summary,
        unwind=with_every_register(partial(executed, source), all_recorded),
        needs=frozenset({".shstrtab"}),  # an ELF file: nothing tells these of Apple's tables
        limits=(in_no_file(Outcome.REFUSED, Outcome.ENDED_EARLY), *limits),
        tool=partial(_tool, source),
    )
    return Referee(
        name=name,
        summary=summary,
        package=package,
        find=partial(_found, source),
        unwinders=(unwinder, *others),
        findings=_shown_by(name),
    )


_GCC = "apt install gcc libc6-dev gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf"
LIBGCC_BACKTRACE = _referee(
    LIBGCC,
    "libgcc's _Unwind_Backtrace, executed in a signal handler",
    _GCC,
    (*BELIEVED, PC_COLUMN, *AT_CALLS_ONLY, *NO_END, ERROR_AT_THE_END, NOT_TOLD_ON_ARM),
    _forced(LIBGCC_FORCED, "libgcc's _Unwind_ForcedUnwind, which says where the stack ends", CANNOT_UNWIND),
)
GLIBC_BACKTRACE = _referee(
    GLIBC,
    "glibc's backtrace(), executed in a signal handler",
    _GCC,
    (
        *BELIEVED,
        PC_COLUMN,
        *PC_COLUMN_UNLISTED,
        *AT_CALLS_ONLY,
        *AT_CALLS_ONLY_FURTHER_OUT,
        *NO_END,
        SILENT_END,
        NOT_TOLD,
        NOT_TOLD_ON_ARM,
    ),
)
NONGNU_BACKTRACE = Referee(
    name="nongnu_backtrace",
    summary="nongnu libunwind's unw_step, executed in a signal handler",
    package="; ".join(NONGNU_PACKAGES[name] for name in ("arm64", "arm32")),
    find=lambda: next((found for name in ("arm64", "arm32") if (found := found_for(NONGNU, ARCHES[name]))), None),
    unwinders=(
        Unwinder(
            name="nongnu_backtrace",
            summary="nongnu libunwind on arm64, executed: .eh_frame_hdr's table, then the link register",
            unwind=with_every_register(partial(executed, NONGNU), all_recorded),
            arches=frozenset({"arm64"}),
            needs=frozenset({".eh_frame_hdr"}),
            limits=NONGNU_LIMITS,
            tool=partial(_tool, NONGNU),
        ),
        Unwinder(
            name="nongnu_backtrace_exidx",
            summary="nongnu libunwind on arm32, executed: .ARM.exidx, then the frame pointer",
            unwind=with_every_register(partial(executed, NONGNU), all_recorded),
            arches=frozenset({"arm32"}),
            needs=frozenset({".ARM.exidx"}),
            limits=NONGNU_EXIDX_LIMITS,
            tool=partial(_tool, NONGNU),
        ),
    ),
    findings=_shown_by("nongnu_backtrace", "nongnu_backtrace_exidx"),
)
LLVM_BACKTRACE = _referee(
    LLVM,
    "LLVM libunwind's _Unwind_Backtrace, executed in a signal handler",
    "pip install ziglang==0.17.0",
    (
        *BELIEVED_BY_LLVM,
        *AT_CALLS_ONLY,
        *NO_END,
        END_AT_THE_END,
        *OLD_ROWS,
        OLD_ROW_INSIDE,
        OLD_ROW_FURTHER_IN,
        NO_ROW_FOR_THE_CALLER,
        NOT_TOLD_ON_ARM,
        ROW_BEFORE_WRONG,
    ),
    _forced(LLVM_FORCED, "LLVM libunwind's _Unwind_ForcedUnwind, which says where the stack ends", CANNOT_UNWIND),
)
