"""Prologue analysis: no tables at all; what a function's instructions do to its frame, from its symbol to the pc.

The function is found by its symbol, decoded, and emulated abstractly along its control flow: at each instruction it is
known where the CFA lies and where the callee's prologue has put the caller's registers. This is what gdb's prologue
analysers and lldb's instruction emulation do where a file has no unwind tables. It rests on what compilers' code
keeps to: a call gives back SP and the callee-saved registers, and nothing but the function itself writes to the slots
that it saved registers in. What the instructions do not say is unknown, and where they do not lead to the return
address, it stops. The function at the image's entry has no caller.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.analysis.function_rows import is_come_back, row_at, table_of
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk


def rows(image: Image) -> RowTable:
    """What the code of an image's functions says at each of their instructions."""
    return table_of(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row at a frame. Raises NoUnwindInfo outside functions, and where the frame cannot be known."""
    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    pc, lookup_pc = frame.pc - loaded.bias, frame.lookup_pc - loaded.bias
    return row_at(loaded.image, pc if pc != lookup_pc and is_come_back(loaded.image, pc) else lookup_pc)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the instructions of each frame's function lead to."""
    return walk(snapshot, row_for)


LIMITS = limits_of(
    """
    SIGNAL            x86_64  refused stopped ended_early
    SIGNAL            arm64   refused stopped
    SIGNAL            arm32   refused stopped
    NO_CODE           x86_64  refused
    NO_CODE           arm64   refused
    NO_CODE           arm32   refused
    IN_NO_FILE        x86_64  refused
    IN_NO_FILE        arm64   refused
    IN_NO_FILE        arm32   refused
    ENTERED_FRAMED    x86_64  refused ended_early wrong
    ENTERED_FRAMED    arm64   refused stopped phantom
    ENTERED_FRAMED    arm32   refused stopped phantom wrong
    SPLIT_FUNCTION    arm64   refused
    SPLIT_FUNCTION    arm32   refused
    NOT_KEPT          arm32   refused
    NO_TABLE          x86_64  refused stopped
    NO_TABLE          arm64   refused stopped
    NO_TABLE          arm32   refused stopped
    OTHER_STACK       x86_64  phantom
    OTHER_STACK       arm64   stopped
    OTHER_STACK       arm32   stopped
    RETURN_CHANGED    arm32   refused
    MOVED_UP          x86_64  refused stopped
    MOVED_UP          arm64   refused stopped
    MOVED_UP          arm32   refused stopped
    WITHOUT_EFFECT    arm32   refused
    EPILOGUE+LINKED   x86_64  ended_early
    EPILOGUE+LINKED   arm64   ended_early
    EPILOGUE+LINKED   arm32   ended_early
    EPILOGUE+ROW_BEGINS  arm32  refused
    EPILOGUE          arm64   refused
    FRAMELESS         x86_64  refused
    FRAMELESS         arm64   refused
    FRAMELESS_CALLER  arm64   stopped
    FRAMELESS+TAIL_CALLED+CHANGED  arm32   wrong_register
    """,
    {
        "SIGNAL": (
            "the trampoline that a signal's handler returns to was called by no instruction, and its own do not say "
            "where the interrupted registers are; looked up before its first instruction, it is taken for the function "
            "before it",
            "https://github.com/libunwind/libunwind/issues/924",
        ),
        "FRAMELESS+TAIL_CALLED+CHANGED": (
            "a tail call came to this function, which makes no frame, with a register of the caller's changed: in the "
            "function's own code it is as it was",
            "https://sourceware.org/git/?p=glibc.git;a=blob;f=sysdeps/unix/sysv/linux/arm/swapcontext.S;hb=refs/tags/glibc-2.36",
        ),
        "NO_CODE": (
            "there are no instructions to analyse where a wild pointer was called",
            "https://github.com/libunwind/libunwind/issues/106",
        ),
        "IN_NO_FILE": (
            "instructions are read from program files: code that was written to memory while running is in none",
            "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
        ),
        "ENTERED_FRAMED": (
            "a symbol is taken for a function that is entered by a call, with nothing on the stack yet; only a part "
            "that is named .cold is known to continue its function's frame",
            "https://github.com/llvm/llvm-project/issues/125299",
        ),
        "SPLIT_FUNCTION": (
            "a helper saves registers for its caller, or a CFA depends on pc: what is assumed of functions, that a "
            "call gives back SP and the callee-saved registers, does not hold",
            "https://github.com/llvm/llvm-project/issues/96950",
        ),
        "NOT_KEPT": (
            "a function that never returns need not keep its return address, unless a table has to say where it is",
            "https://github.com/rust-lang/rust/issues/69231",
        ),
        "NO_TABLE": (
            "code without tables may be code without a symbol: where its function begins is unknown",
            "https://github.com/openssl/openssl/issues/10635",
        ),
        "OTHER_STACK": (
            "a coroutine's first function was entered by a switch of stacks and by no call: what its instructions take "
            "for the return address is whatever lies there",
            "https://github.com/tarantool/tarantool/issues/6889",
        ),
        "RETURN_CHANGED": (
            "a return address that was computed with is none: where a callee comes back behind data, nobody knows",
            "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S",
        ),
        "MOVED_UP": (
            "the function has stored its return address in its caller's frame, and its own instructions do not say how "
            "far away that is",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c",
        ),
        "EPILOGUE+LINKED": (
            "a callee came back with another SP than before its call, and the CFA counts from SP wherever SP is known: "
            "the frame pointer is not asked, for callers further out may not have it",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c",
        ),
        "WITHOUT_EFFECT": (
            "a row is chosen by pc alone: behind an instruction that moves SP under a condition there are two frames, "
            "and only the flags say which",
            "Arm Architecture Reference Manual for A-profile, DDI 0487, F1.3: conditional execution",
        ),
        "EPILOGUE+ROW_BEGINS": (
            "SP has just been moved and the code alone does not say whether (under a condition: a row is chosen by pc, "
            "not by flags) or where to (a handler's saved SP)",
            "Arm Architecture Reference Manual for A-profile, DDI 0487, F1.3: conditional execution",
        ),
        "EPILOGUE": (
            "the return address has just been loaded from a shadow call stack, which is no part of the frame",
            "https://clang.llvm.org/docs/ShadowCallStack.html",
        ),
        "FRAMELESS": (
            "hand-written code without a frame pointer that sets SP from a value of its own (a probing loop through "
            "another register, a handler's saved SP) or replaces its return address (a retpoline): no way leads back",
            "https://github.com/llvm/llvm-project/issues/66524",
        ),
        "FRAMELESS_CALLER": (
            "a caller further out without a frame pointer that set SP from a value of its own: no way leads back",
            "https://github.com/llvm/llvm-project/issues/66524",
        ),
    },
)

PROLOGUE_ANALYSIS = Unwinder(
    name="prologue_analysis",
    summary="no tables: each function's instructions, emulated abstractly from its symbol to the pc",
    unwind=unwind,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
    limits=LIMITS,
)
