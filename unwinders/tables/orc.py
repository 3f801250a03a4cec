"""`.orc_unwind`: the Linux kernel's own unwinder for x86_64, on the table that objtool makes from the instructions.

No call frame information is involved: objtool follows the code itself. The table has the previous SP and BP and no
other register, so the callers' are unknown. There is no other technique behind it: where no entry covers the pc, it
stops. Source: Linux, Documentation/arch/x86/orc-unwinder.rst and arch/x86/kernel/unwind_orc.c.
"""

from __future__ import annotations

from testbed.contract.assumption import TableRow
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.sections import ORC_ENTRIES, ORC_PLACES
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk


def rows(image: Image) -> RowTable:
    """What `.orc_unwind` claims at every pc of an image."""
    from unwinders.formats.orc import orc_table  # loaded for files that have the section

    return orc_table(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row in force at a frame. Raises NoUnwindInfo where there is none."""
    from unwinders.formats.orc import orc_index

    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    row = orc_index(loaded.image).at(frame.lookup_pc - loaded.bias)
    if row is None:
        raise NoUnwindInfo(f"no entry of {ORC_ENTRIES} covers {frame.lookup_pc:#x}")
    return row


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
"""The strategy as the catalogue holds it."""
