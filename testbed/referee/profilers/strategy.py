"""Three unwinders as profilers call them, executed at each snapshot: libgcc's, glibc's ``backtrace``, LLVM's.

All three were made for exceptions and believe what they are told: a wrong word on the way is read, not checked, and the
read may be the end of the profiled process. That end is counted as ``crashed``.
"""

from __future__ import annotations

from functools import partial

from testbed.arch import ARCHES
from testbed.contract.unwinder import Limit, Unwinder
from testbed.referee.model import Finding, Found, Referee
from testbed.referee.profilers.agent import GLIBC, LIBGCC, LLVM, AgentLibrary, found_for
from testbed.referee.profilers.in_handler import executed
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_ANY = frozenset(Outcome) - {Outcome.EXACT, Outcome.HUNG}
_LIES = frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG_REGISTER, Outcome.WRONG})
_ARM = frozenset({"arm32"})
_CFI = frozenset({"x86_64", "arm64"})
_EHABI = "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#introduction-and-scope"

_LOST = Limit(
    Trait.LOST_REGISTER,
    _LIES | {Outcome.CRASHED},
    "a register that the table calls lost (DW_CFA_undefined) keeps the value that it had",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/unwind-dw2.c",
)
_BELIEVED = (
    Limit(
        Trait.WRONG_TABLE,
        _ANY,
        "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
        "https://github.com/llvm/llvm-project/issues/63598",
    ),
    Limit(
        Trait.NO_TABLE,
        _LIES | {Outcome.REFUSED, Outcome.STOPPED, Outcome.CRASHED},
        "code without an entry is the end of the stack: _URC_END_OF_STACK says no more; or the entry before it answers",
        "https://github.com/openssl/openssl/issues/8853",
    ),
    Limit(
        Trait.NO_CODE,
        frozenset({Outcome.REFUSED, Outcome.STOPPED, Outcome.ENDED_EARLY, Outcome.SKIPPED}),
        "a return address of zero is the end of the stack, and where a null pointer leads there is no table",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    _LOST,
    Limit(
        Trait.OPEN_END,
        frozenset({Outcome.PHANTOM, Outcome.STOPPED, Outcome.CRASHED, Outcome.REFUSED}),
        "the start code's row does not say that it has no caller: what lies there is taken for a return address",
        "https://github.com/kstenerud/KSCrash/issues/764",
    ),
)
_AT_CALLS_ONLY = tuple(
    Limit(
        trait,
        _LIES | {Outcome.REFUSED, Outcome.STOPPED, Outcome.CRASHED},
        "EHABI has one row for a whole function, true at its calls; a signal comes anywhere, and what is popped then "
        "was not pushed",
        "https://github.com/gperftools/gperftools/issues/784",
        _ARM,
    )
    for trait in (Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS, Trait.SPLIT_FUNCTION)
)
_OUTERMOST = "the start code is marked EXIDX_CANTUNWIND: for libgcc that is an error, and its frame is never listed"
_NO_END = (Limit(Trait.ROOT, frozenset({Outcome.STOPPED}), _OUTERMOST, _EHABI, _ARM),)
_ERROR_AT_THE_END = Limit(Trait.CALLED, frozenset({Outcome.REFUSED, Outcome.STOPPED}), _OUTERMOST, _EHABI, _ARM)
_SILENT_END = Limit(
    Trait.CALLED,
    frozenset({Outcome.ENDED_EARLY}),
    _OUTERMOST + "; backtrace() returns how many there are, not why there are no more",
    "https://sourceware.org/glibc/manual/latest/html_node/Backtraces.html",
    _ARM,
)
_END_AT_THE_END = Limit(
    Trait.CALLED,
    frozenset({Outcome.ENDED_EARLY, Outcome.REFUSED}),
    "the start code is marked EXIDX_CANTUNWIND: the stack ends before it, and its frame is never listed",
    _EHABI,
    _ARM,
)
_PARSER = "https://github.com/llvm/llvm-project/pull/92291"  # its fix, merged in 2024, is not in LLVM 22


_OLD_ROW = (
    "rows are applied up to the byte before pc, as is right for a return address; at an interrupted pc that a row "
    "begins at, the row before it answers, and slots that are popped are read once more"
)
_OLD_ROWS = tuple(
    Limit(trait, _LIES | {Outcome.CRASHED}, _OLD_ROW, _PARSER, _CFI)
    for trait in (
        Trait.PROLOGUE,
        Trait.EPILOGUE,
        Trait.FRAMELESS,
        Trait.SIGNAL,
        Trait.SPLIT_FUNCTION,
        Trait.OTHER_STACK,
    )
)
# A row can begin in the middle of a function, too: .cfi_restore_state behind an early return.
_OLD_ROW_INSIDE = Limit(Trait.CALLED, frozenset({Outcome.ENDED_EARLY, Outcome.PHANTOM}), _OLD_ROW, _PARSER, _CFI)

_PC_COLUMN = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.CRASHED}),
    "a signal's CIE with the return address in column 32, PC: uw_update_context looks that register's size up, finds "
    "0, and _Unwind_GetGR aborts the process",
    "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/unwind-dw2.c",
    frozenset({"arm64"}),
)


def _found(source: AgentLibrary) -> Found | None:
    return next((found for arch in ARCHES.values() if (found := found_for(source, arch))), None)


def _tool(source: AgentLibrary) -> str:
    return "; ".join(str(found_for(source, arch)) for arch in ARCHES.values())


def _referee(
    source: AgentLibrary, summary: str, package: str, limits: tuple[Limit, ...], findings: tuple[Finding, ...]
) -> Referee:
    name = f"{source.name}_backtrace"
    unwinder = Unwinder(
        name=name,
        summary=summary,
        unwind=partial(executed, source),
        needs=frozenset({".shstrtab"}),  # an ELF file: nothing tells these of Apple's tables
        limits=limits,
        tool=partial(_tool, source),
    )
    return Referee(
        name=name,
        summary=summary,
        package=package,
        find=partial(_found, source),
        unwinders=(unwinder,),
        findings=findings,
    )


_GCC = "apt install gcc libc6-dev gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf"
LIBGCC_BACKTRACE = _referee(
    LIBGCC,
    "libgcc's _Unwind_Backtrace, executed in a signal handler",
    _GCC,
    (*_BELIEVED, _PC_COLUMN, *_AT_CALLS_ONLY, *_NO_END, _ERROR_AT_THE_END),
    (
        Finding(
            title="libgcc aborts the process at a signal's frame whose return address is in column 32, PC",
            unwinder="libgcc_backtrace",
            tool="GCC 12.2.0",
            since="2026-11-21",
            program="signal",
            arch="arm64",
            recipe="clang-asm",
            at="on_signal",
            limit=_PC_COLUMN,
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
            limit=_AT_CALLS_ONLY[0],
            upstream="https://github.com/gperftools/gperftools/issues/784",
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
            limit=_LOST,
        ),
    ),
)
GLIBC_BACKTRACE = _referee(
    GLIBC,
    "glibc's backtrace(), executed in a signal handler",
    _GCC,
    (*_BELIEVED, _PC_COLUMN, *_AT_CALLS_ONLY, *_NO_END, _SILENT_END),
    (),
)
LLVM_BACKTRACE = _referee(
    LLVM,
    "LLVM libunwind's _Unwind_Backtrace, executed in a signal handler",
    "pip install ziglang==0.17.0",
    (*_BELIEVED, *_AT_CALLS_ONLY, *_NO_END, _END_AT_THE_END, *_OLD_ROWS, _OLD_ROW_INSIDE),
    (
        Finding(
            title="LLVM libunwind, called in a signal handler, ends the process that was interrupted at a ret",
            unwinder="llvm_backtrace",
            tool="LLVM 22.1.8 (ziglang 0.17.0)",
            since="2026-11-21",
            program="leaf_call",
            arch="x86_64",
            recipe="clang-asm",
            at="main+0xf",
            limit=_OLD_ROWS[1],
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
            limit=_OLD_ROWS[1],
            upstream=_PARSER,
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
            limit=_OLD_ROWS[0],
            upstream=_PARSER,
        ),
    ),
)
