"""`.debug_frame`, searched linearly: the call frame information that debuggers read from the file.

The same rows as `.eh_frame`, in the section that is not loaded with the program: CIEs are named by their offset, pcs
are plain addresses, and a CIE of version 4 says how wide they are.

LLVM's ARM back end writes call frame information in emitPrologue only (ARMFrameLowering.cpp): code behind an epilogue,
on another path through a function without a frame pointer, still has the row of the whole frame.

Source: DWARF 5, section 6.4.1; AADWARF32.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.cfi import cfi_table
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk
from unwinders.tables.eh_frame import table_rows

SECTION = ".debug_frame"


def rows(image: Image) -> RowTable:
    """What `.debug_frame` claims at every pc of an image."""
    return cfi_table(image, SECTION)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.debug_frame` give."""
    return walk(snapshot, table_rows(SECTION))


DEBUG_FRAME = Unwinder(
    name="debug_frame",
    summary="the rows of .debug_frame, found by linear search, applied frame by frame",
    unwind=unwind,
    assumption=TableRow(".debug_frame"),
    unwind_trace=over_traces(unwind, lambda arch: table_rows(SECTION)),
    rows=rows,
    needs=frozenset({SECTION}),
)
