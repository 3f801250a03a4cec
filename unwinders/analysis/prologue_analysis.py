"""Prologue analysis: no tables at all; what a function's instructions do to its frame, from its symbol to the pc.

The function is found by its symbol, decoded, and emulated abstractly along its control flow: at each instruction it is
known where the CFA lies and where the callee's prologue has put the caller's registers. This is what gdb's prologue
analysers and lldb's instruction emulation do where a file has no unwind tables. It rests on what compilers' code
keeps to: a call gives back SP and the callee-saved registers, and nothing but the function itself writes to the slots
that it saved registers in. What the instructions do not say is unknown, and where they do not lead to the return
address, it stops. The function at the image's entry has no caller.
"""

from __future__ import annotations

from testbed.contract.assumption import CodeRow
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.rows import RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.analysis.function_rows import is_come_back, row_at, table_of
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk


def rows(image: Image) -> RowTable:
    """What the code of an image's functions says at each of their instructions."""
    return table_of(image)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row at a frame. Raises NoUnwindInfo outside functions, and where the frame cannot be known."""
    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    pc, lookup_pc = frame.pc - loaded.bias, frame.lookup_pc - loaded.bias
    return row_at(loaded.image, pc if pc != lookup_pc and is_come_back(loaded.image, pc) else lookup_pc)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the instructions of each frame's function lead to."""
    return walk(snapshot, row_for)


PROLOGUE_ANALYSIS = Unwinder(
    name="prologue_analysis",
    summary="no tables: each function's instructions, emulated abstractly from its symbol to the pc",
    unwind=unwind,
    assumption=CodeRow(),
    unwind_trace=over_traces(unwind, lambda arch: row_for),
    rows=rows,
)
