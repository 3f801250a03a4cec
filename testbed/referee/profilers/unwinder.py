"""Three unwinders as profilers call them, executed at each snapshot: libgcc's, glibc's ``backtrace``, LLVM's.

All three were made for exceptions and believe what they are told: a wrong word on the way is read, not checked, and the
read may be the end of the profiled process. That end is counted as ``crashed``.
"""

from __future__ import annotations

from functools import partial

from testbed.arch import ARCHES
from testbed.contract.unwinder import Unwinder
from testbed.referee.model import Finding, Found, Referee, read_findings
from testbed.referee.process.limits import all_recorded, with_every_register
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

FINDINGS = read_findings(__file__)


def _found(source: AgentLibrary) -> Found | None:
    return next((found for arch in ARCHES.values() if (found := found_for(source, arch))), None)


def _tool(source: AgentLibrary) -> str:
    """Which versions there are, each once; an architecture for which there is none says nothing."""
    there = [found for arch in ARCHES.values() if (found := found_for(source, arch))]
    return "; ".join(dict.fromkeys(str(found) for found in there))


def _forced(source: AgentLibrary, summary: str) -> Unwinder:
    """How EHABI's unwinders say where the stack ends: only by force are they asked for more than callers."""
    return Unwinder(
        name=source.name,
        summary=summary,
        unwind=with_every_register(partial(executed, source), all_recorded),
        arches=frozenset({"arm32"}),
        needs=frozenset({".ARM.exidx"}),
        counted=True,
        tool=partial(_tool, source),
    )


def _shown_by(*unwinders: str) -> tuple[Finding, ...]:
    return tuple(finding for finding in FINDINGS if finding.unwinder in unwinders)


def _referee(
    source: AgentLibrary,
    summary: str,
    package: str,
    *others: Unwinder,
) -> Referee:
    name = f"{source.name}_backtrace"
    unwinder = Unwinder(
        name=name,
        summary=summary,
        unwind=with_every_register(partial(executed, source), all_recorded),
        needs=frozenset({".shstrtab"}),  # an ELF file: nothing tells these of Apple's tables
        counted=True,
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
    _forced(LIBGCC_FORCED, "libgcc's _Unwind_ForcedUnwind, which says where the stack ends"),
)
GLIBC_BACKTRACE = _referee(
    GLIBC,
    "glibc's backtrace(), executed in a signal handler",
    _GCC,
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
            counted=True,
            tool=partial(_tool, NONGNU),
        ),
        Unwinder(
            name="nongnu_backtrace_exidx",
            summary="nongnu libunwind on arm32, executed: .ARM.exidx, then the frame pointer",
            unwind=with_every_register(partial(executed, NONGNU), all_recorded),
            arches=frozenset({"arm32"}),
            needs=frozenset({".ARM.exidx"}),
            counted=True,
            tool=partial(_tool, NONGNU),
        ),
    ),
    findings=_shown_by("nongnu_backtrace", "nongnu_backtrace_exidx"),
)
LLVM_BACKTRACE = _referee(
    LLVM,
    "LLVM libunwind's _Unwind_Backtrace, executed in a signal handler",
    "pip install ziglang==0.17.0",
    _forced(LLVM_FORCED, "LLVM libunwind's _Unwind_ForcedUnwind, which says where the stack ends"),
)
