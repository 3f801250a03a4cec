"""`.eh_frame`, searched linearly: the call frame information that every process carries.

The FDE that covers the frame's lookup pc is executed up to that pc; the row it gives is applied. Another FDE is not
looked at, except for the pcs that it is for. There is no other
technique behind it: where no FDE covers the pc, it stops. Source: LSB 5.0 core, section 10.6; DWARF 5, section 6.4.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.cfi import cfi_index, cfi_table
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowFor, looked_up, walk

SECTION = ".eh_frame"


def rows(image: Image) -> RowTable:
    """What `.eh_frame` claims at every pc of an image."""
    return cfi_table(image, SECTION)


def table_rows(section: str) -> RowFor:
    """Rows of one section of whatever image covers the frame. Raises NoUnwindInfo where nothing does."""
    return looked_up(lambda image: cfi_index(image, section), f"no row of {section} covers")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.eh_frame` give."""
    return walk(snapshot, table_rows(SECTION))


# Of every technique that believes call frame information.


EH_FRAME = Unwinder(
    name="eh_frame",
    summary="the rows of .eh_frame, found by linear search, applied frame by frame",
    unwind=unwind,
    assumption=TableRow(".eh_frame"),
    unwind_trace=over_traces(unwind, lambda arch: table_rows(SECTION)),
    rows=rows,
    # C compilers give ARM32 programs .ARM.exidx and .debug_frame instead.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
