"""`.eh_frame`, searched linearly: the call frame information that every process carries.

The FDE that covers the frame's lookup pc is executed up to that pc; the row it gives is applied. Another FDE is not
looked at, except for the pcs that it is for. There is no other
technique behind it: where no FDE covers the pc, it stops. Source: LSB 5.0 core, section 10.6; DWARF 5, section 6.4.
"""

from __future__ import annotations

from types import MappingProxyType

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import Reasons, limits_of
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.cfi import cfi_index, cfi_table
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, walk

SECTION = ".eh_frame"


def rows(image: Image) -> RowTable:
    """What `.eh_frame` claims at every pc of an image."""
    return cfi_table(image, SECTION)


def table_rows(section: str) -> RowFor:
    """Rows of one section of whatever image covers the frame. Raises NoUnwindInfo where nothing does."""

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if loaded is None:
            raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
        row = cfi_index(loaded.image, section).at(frame.lookup_pc - loaded.bias)
        if row is None:
            raise NoUnwindInfo(f"no row of {section} covers {frame.lookup_pc:#x}")
        return row

    return row_for


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.eh_frame` give."""
    return walk(snapshot, table_rows(SECTION))


# Of every technique that believes call frame information.
CFI: Reasons = MappingProxyType(
    {
        "WRONG_TABLE": (
            "a table is believed, not checked: where its row is wrong, so are the CFA and what is read from it",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        "NO_TABLE": (
            "code that nobody wrote a table for: there is nothing to apply; or, where a return address is its very "
            "first byte, the row of the code before it",
            "https://github.com/openssl/openssl/issues/8853",
        ),
        "NO_CODE": (
            "where a null pointer leads there is no table; once the fault's handler has written another pc into its "
            "frame, nothing remembers the old one",
            "https://github.com/libunwind/libunwind/issues/106",
        ),
        "IN_NO_FILE": (
            "code that was written to memory while running, such as a trampoline on the stack, has no table in a file",
            "https://gcc.gnu.org/onlinedocs/gccint/Trampolines.html",
        ),
        "SYNCHRONOUS": (
            "a synchronous table has rows for the finished frame, which are true at calls: in a prologue and in an "
            "epilogue they speak of what is not there yet, or no longer",
            "https://clang.llvm.org/docs/ClangCommandLineReference.html#cmdoption-clang-fasynchronous-unwind-tables",
        ),
        "LOST_REGISTER": (
            "the table says that a caller's register cannot be had any more, and the caller's row needs it",
            "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html",
        ),
        "OPEN_END": (
            "the start code's row does not say that it has no caller: what lies there is taken for a return address",
            "https://github.com/kstenerud/KSCrash/issues/764",
        ),
        "REALIGNED+EPILOGUE+UNLINKED": (
            "GCC keeps the registers of a realigned frame relative to the frame pointer, and writes no row where its "
            "epilogue has popped that one: what is counted from it then is somewhere else",
            "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=99334",
        ),
    }
)

LIMITS = limits_of(
    """
    REALIGNED+EPILOGUE+UNLINKED  x86_64  skipped wrong_register
    WRONG_TABLE                  x86_64  refused ended_early skipped phantom wrong_register wrong
    WRONG_TABLE                  arm64   stopped ended_early skipped phantom wrong_register wrong
    NO_TABLE                     x86_64  refused stopped ended_early
    NO_TABLE                     arm64   refused stopped
    NO_CODE                      x86_64  refused stopped skipped
    NO_CODE                      arm64   refused stopped skipped
    IN_NO_FILE                   x86_64  refused
    IN_NO_FILE                   arm64   refused
    SYNCHRONOUS                  arm64   refused ended_early skipped phantom wrong_register wrong
    LOST_REGISTER                x86_64  stopped
    LOST_REGISTER                arm64   stopped
    OPEN_END                     x86_64  phantom
    OPEN_END                     arm64   stopped phantom
    """,
    CFI,
)

EH_FRAME = Unwinder(
    name="eh_frame",
    summary="the rows of .eh_frame, found by linear search, applied frame by frame",
    unwind=unwind,
    unwind_trace=over_traces(unwind, lambda arch: table_rows(SECTION)),
    rows=rows,
    # C compilers give ARM32 programs .ARM.exidx and .debug_frame instead.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
    limits=LIMITS,
)
