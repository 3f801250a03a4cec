"""`.eh_frame`, searched linearly: the call frame information that every process carries.

The FDE that covers the frame's lookup pc is executed up to that pc; the row it gives is applied. Another FDE is not
looked at, except for the pcs that it is for. There is no other
technique behind it: where no FDE covers the pc, it stops. Source: LSB 5.0 core, section 10.6; DWARF 5, section 6.4.
"""

from functools import partial

from unwinders.formats.cfi import cfi_index
from unwinders.rows.by_rows import by_table

SECTION = ".eh_frame"


EH_FRAME = by_table(
    partial(cfi_index, name=SECTION),
    f"no row of {SECTION} covers",
    SECTION,
    name="eh_frame",
    done_by="debuggers, exceptions and perf's --call-graph dwarf",
    summary="the rows of .eh_frame, found by linear search, applied frame by frame",
    # C compilers give ARM32 programs .ARM.exidx and .debug_frame instead.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
