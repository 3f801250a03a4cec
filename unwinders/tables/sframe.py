"""`.sframe`: for every pc the distances from SP or FP to the CFA, the return address and the saved FP. No more.

The format exists so that a profiler, or a kernel, can walk a stack without interpreting DWARF. It knows nothing about
other registers, so the callers' are unknown, and where a CFA needs one of them it has no row. There is no other
technique behind it: where no row covers the pc, it stops. Source: The SFrame Format, versions 1 to 3.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame
from testbed.contract.limits import limits_of
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.sections import SFRAME as SECTION
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk
from unwinders.shared_limits import TABLES


def rows(image: Image) -> RowTable:
    """What `.sframe` claims at every pc of an image."""
    from unwinders.formats.sframe import sframe_table  # loaded for files that have the section

    return sframe_table(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row in force at a frame. Raises NoUnwindInfo where there is none."""
    from unwinders.formats.sframe import sframe_index

    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    row = sframe_index(loaded.image).at(frame.lookup_pc - loaded.bias)
    if row is None:
        raise NoUnwindInfo(f"no row of {SECTION} covers {frame.lookup_pc:#x}")
    return row


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.sframe` give."""
    return walk(snapshot, row_for)


LIMITS = limits_of(
    """
    WRONG_TABLE    x86_64  refused ended_early skipped wrong
    WRONG_TABLE    arm64   stopped ended_early skipped phantom wrong_register wrong
    NO_TABLE       x86_64  refused stopped ended_early
    NO_TABLE       arm64   refused stopped
    SIGNAL         x86_64  refused stopped
    SIGNAL         arm64   refused stopped
    NO_CODE        x86_64  refused
    NO_CODE        arm64   refused
    INEXPRESSIBLE  x86_64  refused stopped
    INEXPRESSIBLE  arm64   refused stopped
    REALIGNED      x86_64  refused stopped
    REALIGNED      arm64   stopped phantom
    LOST_REGISTER  x86_64  refused
    LOST_REGISTER  arm64   refused
    UNSAID_END     arm64   stopped phantom
    OPEN_END       x86_64  phantom
    OPEN_END       arm64   stopped phantom
    """,
    TABLES,
)

SFRAME = Unwinder(
    name="sframe",
    summary="the rows of .sframe: CFA, return address and frame pointer, found by pc, applied frame by frame",
    unwind=unwind,
    rows=rows,
    limits=LIMITS,
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    # The ABIs that the format has a number for.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
"""The strategy as the catalogue holds it."""
