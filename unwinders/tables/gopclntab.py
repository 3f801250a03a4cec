"""`.gopclntab`: what Go's own traceback goes by, the size of each function's frame at each pc.

Go preserves no register but SP and the frame pointer, so the others of a caller are unknown. Where the runtime follows
a goroutine from the system stack to its own stack it looks into its own data; here that is where the technique stops.
There is no other technique behind it. Source: Go, runtime/symtab.go, traceback.go, internal/abi/symtab.go.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.indexed import IndexedTable
from unwinders.formats.sections import GOPCLNTAB as SECTION
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import looked_up, walk


def index(image: Image) -> IndexedTable:
    """The functions of `.gopclntab` of an image."""
    from unwinders.formats.gopclntab import gopclntab_index  # loaded for files that have the section

    return gopclntab_index(image)


def rows(image: Image) -> RowTable:
    """What `.gopclntab` claims at every pc of an image."""
    return index(image).all_rows()


row_for = looked_up(index, f"{SECTION} does not say where the caller is at")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the frame sizes of `.gopclntab` give."""
    return walk(snapshot, row_for)


GOPCLNTAB = Unwinder(
    name="gopclntab",
    summary="Go's table of functions: the frame's size at each pc, the return address where the architecture has it",
    unwind=unwind,
    assumption=TableRow(SECTION),
    rows=rows,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
"""The unwinder as the catalogue holds it."""
