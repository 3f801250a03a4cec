"""BSBacktraceLogger, the logger that most iOS articles start from: pc, the link register, the frame-pointer chain.

With ``buffer`` of 50 addresses::

    buffer[i++] = pc
    buffer[i++] = link register, if it is not zero
    no frame pointer, or it cannot be read: "Fail to get frame pointer", and no list at all
    for the record at the frame pointer, and each it leads to:
        buffer[i] = return address
        stop if it is zero, the previous pointer is zero, or the next record cannot be read; else i++

What is printed is ``buffer[0..i)``. The loop leaves *before* it counts the address that it has just stored, so the
outermost return address never shows, at no site. The link register is added as in `qi_stack_frame`.
"""

from __future__ import annotations

from testbed.contract.assumption import RecordList
from testbed.contract.unwinder import Unwinder
from testbed.image import frame_record_at
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from unwinders.chains.frame_records import (
    ReturnAddresses,
    link_register,
    listed,
    read_record,
    return_addresses,
)
from unwinders.chains.qi_stack_frame import MOST_FRAMES


def logged(snapshot: Snapshot) -> ReturnAddresses:
    """LR, then the frame records up to the first that is zero or cannot be read."""
    record, link = frame_record_at(snapshot.images, snapshot.arch, snapshot.pc), link_register(snapshot)
    if (pointer := snapshot.register(record.pointer)) == 0:
        raise NoUnwindInfo("fail to get frame pointer: it is zero")
    previous, address = read_record(snapshot, record, pointer)
    yield from link
    further = return_addresses(snapshot, record, previous)
    while address and (following := next(further, None)) is not None:
        yield address, f"frame record {record.name}"
        address = following


BS_BACKTRACE = Unwinder(
    name="bs_backtrace",
    summary="BSBacktraceLogger: like qi_stack_frame, and the outermost return address is lost",
    unwind=listed(logged, MOST_FRAMES),
    assumption=RecordList(most_frames=50, link=True, looks_ahead=True),
)
