"""`.orc_unwind`: the Linux kernel's own unwinder for x86_64, on the table that objtool makes from the instructions.

No call frame information is involved: objtool follows the code itself. The table has the previous SP and BP and no
other register, so the callers' are unknown. There is no other technique behind it: where no entry covers the pc, it
stops. Source: Linux, Documentation/arch/x86/orc-unwinder.rst and arch/x86/kernel/unwind_orc.c.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.indexed import IndexedTable
from unwinders.formats.sections import ORC_ENTRIES, ORC_PLACES
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import looked_up, walk


def index(image: Image) -> IndexedTable:
    """The entries of `.orc_unwind` of an image."""
    from unwinders.formats.orc import orc_index  # loaded for files that have the section

    return orc_index(image)


def rows(image: Image) -> RowTable:
    """What `.orc_unwind` claims at every pc of an image."""
    return index(image).all_rows()


row_for = looked_up(index, f"no entry of {ORC_ENTRIES} covers")


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the entries of `.orc_unwind` give."""
    return walk(snapshot, row_for)


ORC = Unwinder(
    name="orc",
    summary="binary search in .orc_unwind_ip, then the entry's SP and BP rules: the Linux kernel's own unwinder",
    unwind=unwind,
    assumption=TableRow(".orc_unwind"),
    rows=rows,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    arches=frozenset({"x86_64"}),
    needs=frozenset({ORC_ENTRIES, ORC_PLACES}),
)
"""The unwinder as the catalogue holds it."""
