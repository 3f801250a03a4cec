"""`.eh_frame_hdr`, searched by halves, then one FDE of `.eh_frame`: what a C++ runtime does for every throw.

Unlike the linear search of `.eh_frame` it looks at one FDE only, so it believes the index: an FDE that the index does
not name does not exist for it, and a wrong index is a stop, not a reason to search linearly after all. Source: LSB
5.0 core, section 10.6.2.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.eh_frame_hdr import FRAME, SECTION, search_table
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import looked_up, walk


def rows(image: Image) -> RowTable:
    """What a search in `.eh_frame_hdr` finds at every pc of an image."""
    return search_table(image).all_rows()


row_for = looked_up(search_table, f"the FDE that {SECTION} names does not cover")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows found through `.eh_frame_hdr` give."""
    return walk(snapshot, row_for)


EH_FRAME_HDR = Unwinder(
    name="eh_frame_hdr",
    summary="binary search in the sorted table of .eh_frame_hdr, then the rows of the one FDE that it names",
    unwind=unwind,
    assumption=TableRow(".eh_frame_hdr"),
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
    # C compilers give ARM32 programs .ARM.exidx and .debug_frame instead.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION, FRAME}),
)
