"""`__unwind_info`, Apple's compact unwind table: what exceptions, crash reporters and samplers on its platforms use.

Two binary searches find the function's 32-bit encoding; it says one thing for the whole function, and that is true
where it calls another: an exception cannot be thrown from anywhere else. An encoding that defers to an FDE of
`__eh_frame` is part of the format: then that FDE's row is applied, found by its offset and not by a search. Source:
LLVM, ``include/mach-o/compact_unwind_encoding.h``.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.sections import UNWIND_INFO as SECTION
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import RowsByPc, looked_up, walk


def rows(image: Image) -> RowTable:
    """What `__unwind_info` claims at every pc of an image."""
    from unwinders.formats.compact_unwind import compact_table  # loaded for files that have the section

    return compact_table(image).all_rows()


def table(image: Image) -> RowsByPc:
    """The encodings of an image."""
    from unwinders.formats.compact_unwind import compact_table

    return compact_table(image)


row_for = looked_up(table, f"{SECTION} says nothing about")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `__unwind_info` give."""
    return walk(snapshot, row_for)


COMPACT_UNWIND = Unwinder(
    name="compact_unwind",
    summary="two-level search in Mach-O's __unwind_info, then one row per function, or the FDE that it defers to",
    unwind=unwind,
    assumption=TableRow("__compact_unwind"),
    rows=rows,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
