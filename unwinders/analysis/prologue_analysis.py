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
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Limit, Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.analysis.function_rows import row_at, table_of
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk


def rows(image: Image) -> RowTable:
    """What the code of an image's functions says at each of their instructions."""
    return table_of(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row at a frame. Raises NoUnwindInfo outside functions, and where the frame cannot be known."""
    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    return row_at(loaded.image, frame.lookup_pc - loaded.bias)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the instructions of each frame's function lead to."""
    return walk(snapshot, row_for)


_HONEST = frozenset({Outcome.REFUSED, Outcome.STOPPED})

LIMITS = (
    Limit(
        Trait.SIGNAL,
        _HONEST | {Outcome.ENDED_EARLY},
        "the trampoline that a signal's handler returns to was called by no instruction, and its own do not say where "
        "the interrupted registers are; looked up before its first instruction, it is taken for the function before it",
        "https://github.com/libunwind/libunwind/issues/924",
    ),
    Limit(
        Trait.NO_CODE,
        frozenset({Outcome.REFUSED}),
        "there are no instructions to analyse where a wild pointer was called",
        "https://github.com/libunwind/libunwind/issues/106",
    ),
    Limit(
        Trait.SPLIT_FUNCTION,
        _HONEST | {Outcome.ENDED_EARLY, Outcome.PHANTOM, Outcome.WRONG},
        "a symbol is taken for a function that is entered by a call, with nothing on the stack yet; only a part "
        "that is named .cold is known to continue its function's frame",
        "https://github.com/llvm/llvm-project/issues/125299",
    ),
    Limit(
        Trait.NOT_KEPT,
        _HONEST,
        "a function that never returns need not keep its return address, unless a table has to say where it is",
        "https://github.com/rust-lang/rust/issues/69231",
    ),
    Limit(
        Trait.NO_TABLE,
        _HONEST,
        "code without tables may be code without a symbol: where its function begins is unknown",
        "https://github.com/openssl/openssl/issues/10635",
    ),
    Limit(
        Trait.OTHER_STACK,
        frozenset({Outcome.STOPPED, Outcome.PHANTOM}),
        "a coroutine's first function was entered by a switch of stacks and by no call: what its instructions take for "
        "the return address is whatever lies there",
        "https://github.com/tarantool/tarantool/issues/6889",
    ),
    Limit(
        Trait.EPILOGUE,
        frozenset({Outcome.REFUSED}),
        "the return address has just been loaded from a shadow call stack, which is no part of the frame",
        "https://clang.llvm.org/docs/ShadowCallStack.html",
    ),
    Limit(
        Trait.FRAMELESS,
        _HONEST,
        "hand-written code without a frame pointer that sets SP from a value of its own (a probing loop through "
        "another register, a handler's saved SP) or replaces its return address (a retpoline): no way leads back",
        "https://github.com/llvm/llvm-project/issues/66524",
    ),
)

PROLOGUE_ANALYSIS = Unwinder(
    name="prologue_analysis",
    summary="no tables: each function's instructions, emulated abstractly from its symbol to the pc",
    unwind=unwind,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
    limits=LIMITS,
)
