"""`.ARM.exidx` and `.ARM.extab`: what C++ exceptions on 32-bit Arm unwind by, present in every program.

A binary search in the index finds the function, its entry says how to undo its prologue. It says one thing for the
whole function, and that is true at its call sites: an exception cannot be thrown from anywhere else.

A function marked EXIDX_CANTUNWIND "cannot be unwound": unwinding fails there, it does not end (EHABI32, section 6,
index table entries). Linkers mark so whatever has no table, compilers what throws nothing. GNU libunwind and LLVM's
end the stack there, which hides all callers. Here it is a stop. Only the function that the image begins with has no
caller: the file's header says so, and start code carries the mark so that unwinding goes no further.

Source: Exception Handling ABI for the Arm Architecture (EHABI32).
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
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


_CANTUNWIND = "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#index-table-entries"
# Section 3: exceptions appear to be thrown at the sites of calls only; prologues and epilogues are exception-free.
_SYNCHRONOUS = "https://github.com/ARM-software/abi-aa/blob/main/ehabi32/ehabi32.rst#introduction-and-scope"

LIMITS = limits_of(
    """
    CANNOT_UNWIND         arm32   refused stopped skipped wrong
    NO_TABLE              arm32   refused skipped
    IN_NO_FILE            arm32   refused
    NO_CODE               arm32   refused
    PROLOGUE+UNLINKED          arm32   refused ended_early skipped wrong_register wrong
    PROLOGUE+LINKED+UNSAVED    arm32   wrong_register
    EPILOGUE+UNLINKED          arm32   refused ended_early skipped wrong_register wrong
    FRAME_ELSEWHERE       arm32   refused ended_early skipped wrong_register wrong
    UNSAVED+FRAMELESS+UNKEPT   arm32   ended_early wrong_register wrong
    FRAMELESS+BARE+LINK_LIVE+PARTLY_RUN  arm32   refused ended_early skipped wrong_register wrong
    FRAMELESS+FRAME_IN_PART  arm32   ended_early skipped wrong_register wrong
    RETURN_UNSAVED+UNKEPT      arm32   ended_early wrong
    SIGNAL                arm32   ended_early skipped wrong_register wrong
    INEXPRESSIBLE+CHANGED      arm32   wrong_register
    LOST_REGISTER+FP_REUSED       arm32   skipped
    OPEN_END              arm32   stopped phantom
    OTHER_STACK+ROOT      arm32   stopped
    WRONG_TABLE           arm32   stopped wrong
    FP_MOVED_ON           arm32   ended_early skipped wrong_register wrong
    FP_REUSED+FRAME_IN_PART  arm32   ended_early
    """,
    {
        "CANNOT_UNWIND": (
            "EXIDX_CANTUNWIND says that unwinding fails in a function, and linkers say it of code without a table",
            "https://github.com/llvm/llvm-project/issues/57648",
        ),
        "OTHER_STACK+ROOT": (
            "a coroutine's first function is marked EXIDX_CANTUNWIND, which does not say that it has no caller",
            _CANTUNWIND,
        ),
        "WRONG_TABLE": (
            "GCC pushes a word for a profiler's call, which takes it off again: the table, also at that call, does not "
            "count it",
            "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/bpabi.h;hb=refs/heads/releases/gcc-12",
        ),
        "NO_TABLE": (
            "the index says where functions begin, not where they end: code without an entry has the one before it",
            "https://github.com/getsentry/symbolic/pull/1017",
        ),
        "IN_NO_FILE": (
            "code that was written to memory while running, such as a trampoline on the stack, has no table in a file",
            "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
        ),
        "NO_CODE": (
            "where a null pointer leads there is no table",
            "https://github.com/libunwind/libunwind/issues/106",
        ),
        "PROLOGUE+UNLINKED": (
            "the one row of a function describes its finished frame: in the prologue it pops what is not pushed yet, "
            "or counts from a frame pointer that is still the caller's",
            _SYNCHRONOUS,
        ),
        "EPILOGUE+UNLINKED": (
            "the one row of a function describes its finished frame: in the epilogue it pops once more what is already "
            "popped",
            _SYNCHRONOUS,
        ),
        "FRAME_ELSEWHERE": (
            "the one row of a function describes its finished frame: on a path that takes no frame, or has left it in "
            "mid-function, nothing of it is there",
            _SYNCHRONOUS,
        ),
        "PROLOGUE+LINKED+UNSAVED": (
            "the one row of a function describes its finished frame: the record is there, and a register that the "
            "prologue has yet to store is read from an empty place",
            _SYNCHRONOUS,
        ),
        "UNSAVED+FRAMELESS+UNKEPT": (
            "the one row of a function describes its finished frame: registers that it has not stored yet are read "
            "from empty places",
            _SYNCHRONOUS,
        ),
        "FRAMELESS+BARE+LINK_LIVE+PARTLY_RUN": (
            "the one row of a function describes its finished frame: here it returns before it takes one, and the "
            "path on which it does was not run",
            _SYNCHRONOUS,
        ),
        "RETURN_UNSAVED+UNKEPT": (
            "the one row of a function describes its finished frame: the return address is not in its slot yet",
            _SYNCHRONOUS,
        ),
        "FP_MOVED_ON": (
            "the one row of a function counts from a frame pointer; behind a function's last call GCC adds to it what "
            "the epilogue wants there, at the epilogue's first instruction or long before",
            _SYNCHRONOUS,
        ),
        "FRAMELESS+FRAME_IN_PART": (
            "the one row of a function describes one finished frame: a function that takes a frame in steps, or one "
            "after another, has only part of that one here",
            _SYNCHRONOUS,
        ),
        "FP_REUSED+FRAME_IN_PART": (
            "the one row of a function describes one finished frame, counted from SP where the frame pointer is an "
            "ordinary register: between the steps in which it is given back only part of it is there",
            _SYNCHRONOUS,
        ),
        "INTERRUPTED": (
            "the one row of a function is true at its calls: a signal interrupts it anywhere, and nothing here says "
            "that pc is no return address",
            _SYNCHRONOUS,
        ),
        "SIGNAL": ("nothing here says where a signal's frame keeps the registers of what it interrupted", _SYNCHRONOUS),
        "INEXPRESSIBLE+CHANGED": (
            "the opcodes pop registers and move SP; that a register was changed in another way cannot be said",
            _SYNCHRONOUS,
        ),
        "LOST_REGISTER+FP_REUSED": (
            "that a register's value is lost cannot be said: the opcodes know pops only",
            _SYNCHRONOUS,
        ),
        "OPEN_END": (
            "the start code's entry does not say that it has no caller: lr is taken for a return address",
            "https://github.com/kstenerud/KSCrash/issues/764",
        ),
    },
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
