"""`.sframe`: for every pc the distances from SP or FP to the CFA, the return address and the saved FP. No more.

The format exists so that a profiler, or a kernel, can walk a stack without interpreting DWARF. It knows nothing about
other registers, so the callers' are unknown, and where a CFA needs one of them it has no row. There is no other
technique behind it: where no row covers the pc, it stops. Source: The SFrame Format, versions 1 to 3.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.indexed import IndexedTable
from unwinders.formats.sections import SFRAME as SECTION
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import looked_up, walk


def index(image: Image) -> IndexedTable:
    """The functions of `.sframe` of an image."""
    from unwinders.formats.sframe import sframe_index  # loaded for files that have the section

    return sframe_index(image)


def rows(image: Image) -> RowTable:
    """What `.sframe` claims at every pc of an image."""
    return index(image).all_rows()


row_for = looked_up(index, f"no row of {SECTION} covers")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.sframe` give."""
    return walk(snapshot, row_for)


SFRAME = Unwinder(
    name="sframe",
    summary="the rows of .sframe: CFA, return address and frame pointer, found by pc, applied frame by frame",
    unwind=unwind,
    assumption=TableRow(".sframe"),
    rows=rows,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    # The ABIs that the format has a number for.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
"""The unwinder as the catalogue holds it."""
