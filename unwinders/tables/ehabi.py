"""`.ARM.exidx` and `.ARM.extab`: what C++ exceptions on 32-bit Arm unwind by, present in every program.

A binary search in the index finds the function, its entry says how to undo its prologue. It says one thing for the
whole function, and that is true at its call sites: an exception cannot be thrown from anywhere else (section 3:
prologues and epilogues are exception-free).

A function marked EXIDX_CANTUNWIND "cannot be unwound": unwinding fails there, it does not end (EHABI32, section 6,
index table entries). Linkers mark so whatever has no table, compilers what throws nothing. GNU libunwind and LLVM's
end the stack there, which hides all callers. Here it is a stop. Only the function that the image begins with has no
caller: the file's header says so, and start code carries the mark so that unwinding goes no further.

Source: Exception Handling ABI for the Arm Architecture (EHABI32).
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace, Frame
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


EHABI = Unwinder(
    name="ehabi",
    summary="binary search in .ARM.exidx, then one row per function from its unwinding instructions",
    unwind=unwind,
    assumption=TableRow(".ARM.exidx"),
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
    arches=frozenset({"arm32"}),
    needs=frozenset({EXIDX}),
)
