"""`.ARM.exidx` and `.ARM.extab`: what C++ exceptions on 32-bit Arm unwind by, present in every program.

A binary search in the index finds the function, its entry says how to undo its prologue. It says one thing for the
whole function, and that is true at its call sites: an exception cannot be thrown from anywhere else. A function
marked "cannot be unwound" (EXIDX_CANTUNWIND) is taken for the outermost one, as GNU libunwind and LLVM's take it: the
start code is marked so. Source: Exception Handling ABI for the Arm Architecture (EHABI32).
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
from unwinders.formats.sections import EXIDX
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk


def rows(image: Image) -> RowTable:
    """What `.ARM.exidx` claims at every pc of an image."""
    from unwinders.formats.ehabi_rows import exidx_table  # loaded for files that have the section

    return exidx_table(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row of the function that a frame is in."""
    from unwinders.formats.ehabi_rows import exidx_row

    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    return exidx_row(loaded.image, frame.lookup_pc - loaded.bias)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.ARM.exidx` give."""
    return walk(snapshot, row_for)


_LIES = frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.WRONG_REGISTER, Outcome.WRONG})
# Section 3: exceptions appear to be thrown at the sites of calls only; prologues and epilogues are exception-free.
_SYNCHRONOUS = "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#introduction-and-scope"

LIMITS = (
    Limit(
        Trait.CANNOT_UNWIND,
        frozenset({Outcome.ENDED_EARLY}),
        "EXIDX_CANTUNWIND marks the outermost frame, and every function that throws nothing: it is taken for the first",
        "https://github.com/llvm/llvm-project/issues/57648",
    ),
    Limit(
        Trait.NO_TABLE,
        frozenset({Outcome.REFUSED, Outcome.SKIPPED}),
        "the index says where functions begin, not where they end: code without an entry has the one before it",
        "https://github.com/getsentry/symbolic/pull/1017",
    ),
    Limit(
        Trait.INEXPRESSIBLE,
        frozenset({Outcome.WRONG_REGISTER}),
        "the opcodes pop registers and move SP; that a register was changed in another way cannot be said",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.PROLOGUE,
        _LIES | {Outcome.REFUSED},
        "the one row of a function describes its finished frame: in the prologue it pops what is not pushed yet, or "
        "counts from a frame pointer that is still the caller's",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.EPILOGUE,
        _LIES | {Outcome.REFUSED},
        "the one row of a function describes its finished frame: in the epilogue it pops once more what is already "
        "popped",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.FRAMELESS,
        frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.REFUSED, Outcome.WRONG_REGISTER, Outcome.WRONG}),
        "a function without a frame pointer is not in its finished frame: it returns before it takes one, has moved SP "
        "and not stored its registers yet, or has left its frame and taken another one; it has one row for all of it",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.SIGNAL,
        frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.STOPPED, Outcome.WRONG}),
        "the one row of a function is true at its calls: a signal interrupts it anywhere, and nothing here says "
        "that pc is no return address",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.LOST_REGISTER,
        frozenset({Outcome.SKIPPED}),
        "that a register's value is lost cannot be said: the opcodes know pops only",
        _SYNCHRONOUS,
    ),
    Limit(
        Trait.OPEN_END,
        frozenset({Outcome.PHANTOM, Outcome.STOPPED}),
        "the start code's entry does not say that it has no caller: lr is taken for a return address",
        "https://github.com/kstenerud/KSCrash/issues/764",
    ),
)

EHABI = Unwinder(
    name="ehabi",
    summary="binary search in .ARM.exidx, then one row per function from its unwinding instructions",
    unwind=unwind,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
    arches=frozenset({"arm32"}),
    needs=frozenset({EXIDX}),
    limits=LIMITS,
)
