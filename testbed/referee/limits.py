"""What limits every real unwinder that believes call frame information, and how each says which of it it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from testbed.contract.limits import Reasons, limits_of
from testbed.contract.unwinder import Limit
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_LLVM_ARM = "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/ARM/ARMFrameLowering.cpp"

# Why, and where a real unwinder was seen to do so.
_BECAUSE: Mapping[Trait, tuple[str, str]] = MappingProxyType(
    {
        Trait.WRONG_TABLE: (
            "a table is believed, not checked: where its row is wrong, so is all that is computed from it",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        Trait.NO_TABLE: (
            "no table covers this code: what is said here is a guess, from the frame pointer or the top of the stack",
            "https://github.com/openssl/openssl/issues/8853",
        ),
        Trait.NO_CODE: (
            "where a null pointer leads there is no table, and a pc of zero is taken for the end of the stack",
            "https://github.com/libunwind/libunwind/issues/106",
        ),
        Trait.OPEN_END: (
            "the outermost frame's row does not say that it has no caller: what lies there is taken for a return "
            "address",
            "https://github.com/kstenerud/KSCrash/issues/764",
        ),
        Trait.WRONG_INDEX: (
            "the sorted index is believed: it leads to another function's entry",
            "https://github.com/libunwind/libunwind/issues/41",
        ),
        Trait.SYNCHRONOUS: (
            "a synchronous table has rows for the finished frame, which are true at calls: in a prologue and in an "
            "epilogue they speak of what is not there yet, or no longer",
            "https://clang.llvm.org/docs/ClangCommandLineReference.html#cmdoption-clang-fasynchronous-unwind-tables",
        ),
        Trait.LOST_REGISTER: (
            "the table says that a register cannot be had any more, and the caller's CFA is counted from it: the "
            "stack ends there as if that frame were the outermost one",
            "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
    }
)


_SIGNED = "https://github.com/ARM-software/abi-aa/blob/main/aadwarf64/aadwarf64.rst#call-frame-instructions"


def signed(because: str, *outcomes: Outcome) -> Limit:
    """What a tool makes of a return address that carries a signature."""
    return Limit(Trait.SIGNED, frozenset(outcomes), because, _SIGNED, frozenset({"arm64"}))


def put_by_handler(arches: Iterable[str] | None = None) -> Limit:
    """What a tool makes of a signal frame that the handler has written to: all of them believe what lies there."""
    return Limit(
        Trait.NO_CODE,
        frozenset({Outcome.SKIPPED}),
        "the handler has put the return address of the call through a wild pointer where the kernel put the pointer: "
        "what lies in the signal's frame is believed, so the call is not shown",
        "https://man7.org/linux/man-pages/man7/signal.7.html",
        None if arches is None else frozenset(arches),
        frozenset({Trait.SIGNAL}),
    )


def lost_pointer(*outcomes: Outcome, because: str, reference: str, arches: Iterable[str] | None = None) -> Limit:
    """What a tool makes of a frame pointer that is overwritten and kept nowhere, at the frame that has lost it."""
    where = None if arches is None else frozenset(arches)
    also = frozenset({Trait.FP_REUSED})
    return Limit(Trait.LOST_REGISTER, frozenset(outcomes), because, reference, where, also)


def in_no_file(*outcomes: Outcome) -> Limit:
    """What a tool makes of code that was written to memory while running."""
    return Limit(
        Trait.IN_NO_FILE,
        frozenset(outcomes),
        "a trampoline on the stack is in no file, so nothing that the tool reads tells of it: it stops there, takes it "
        "for the end of the stack, or follows the frame pointer",
        "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
    )


def table_limits(
    shown: Mapping[Trait, frozenset[Outcome]], because: Mapping[Trait, str] = MappingProxyType({})
) -> tuple[Limit, ...]:
    """The limits of a tool that believes tables, the outcomes as which each shows in it, and its own reasons."""
    return tuple(
        Limit(trait, outcomes, because.get(trait, _BECAUSE[trait][0]), _BECAUSE[trait][1])
        for trait, outcomes in shown.items()
    )


# GCC's frames that are realigned keep their old SP in r10; `lea rsp, [r10 - 8]` comes after r10 was restored.
GCC_REALIGNED = Limit(
    Trait.REALIGNED,
    frozenset({Outcome.SKIPPED}),
    "GCC keeps where a realigned frame's caller is relative to the frame pointer, and writes no row where the epilogue "
    "has popped that one: what is read from there is the caller's",
    "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=99334",
    frozenset({"x86_64"}),
    frozenset({Trait.EPILOGUE, Trait.UNLINKED}),
)

_LAST = (
    "LLVM's ARM back end writes call frame information in emitPrologue only: from the first instruction of an epilogue "
    "on, the row still describes the whole frame"
)
_BEHIND = (
    "LLVM's ARM back end writes call frame information in emitPrologue only: code behind an epilogue, on another path "
    "through a function without a frame pointer, still has the row of the whole frame"
)
_MOVED_IN_PART = (
    "GCC writes one row for a frame pointer that two instructions move to the frame's end, after the second: between "
    "them the row does not count the first"
)
_GCC_ARM = "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/arm.cc;hb=refs/heads/releases/gcc-12"
_GIVEN_BACK = (
    "GCC writes one row for a frame that two instructions give back, after the second: between them the row does not "
    "count the first"
)
_BETWEEN = (
    "LLVM's ARM back end writes one row for a frame that takes two instructions to allocate, after the second: between "
    "them the row does not count the first"
)
# What LLVM's and GCC's ARM `.debug_frame` leave out, by mechanism: compilers' bugs, in whatever tool believes it.
LLVM_ARM: Reasons = MappingProxyType(
    {
        "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": (_LAST, _LLVM_ARM),
        "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": (_LAST, _LLVM_ARM),
        "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": (_LAST, _LLVM_ARM),
        "PROLOGUE+ALLOCATED_IN_PART": (_BETWEEN, _LLVM_ARM),
        "NO_EPILOGUE_ROWS+FRAMELESS+FRAME_ELSEWHERE": (_BEHIND, _LLVM_ARM),
        "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": (_BEHIND, _LLVM_ARM),
        "FP_MOVED_IN_PART": (_MOVED_IN_PART, _LLVM_ARM),
        "GIVEN_BACK_IN_PART": (_GIVEN_BACK, _GCC_ARM),
    }
)


def llvm_arm(shown: Mapping[str, str]) -> tuple[Limit, ...]:
    """Those of `LLVM_ARM` that a tool shows, by mechanism, each with the outcomes as which it does."""
    return limits_of("\n".join(f"{mechanism} arm32 {outcomes}" for mechanism, outcomes in shown.items()), LLVM_ARM)


def reasons() -> Reasons:
    """The same reasons by mechanism, for limits that are written as a table (`testbed.contract.limits`)."""
    return {**{trait.name: reason for trait, reason in _BECAUSE.items()}, **LLVM_ARM}


def limit(
    trait: Trait, outcomes: str, because: str, reference: str, arches: Iterable[str] | None = None, *also: Trait
) -> Limit:
    """A limit in short: ``outcomes`` are the outcomes' values in one string."""
    shown = frozenset(Outcome(value) for value in outcomes.split())
    return Limit(trait, shown, because, reference, None if arches is None else frozenset(arches), frozenset(also))
