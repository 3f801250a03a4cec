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
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory
from unwinders.chains.frame_records import ends_the_list, link_register, listed, read_record, record_in_force
from unwinders.chains.qi_stack_frame import MOST_FRAMES


def unwind(snapshot: Snapshot) -> Backtrace:
    """LR, then the frame records up to the first that is zero or cannot be read."""
    record = record_in_force(snapshot)
    try:
        found = link_register(snapshot)
        if (pointer := snapshot.register(record.pointer)) == 0:
            raise NoUnwindInfo("fail to get frame pointer: it is zero")
        previous, return_address = read_record(snapshot, record, pointer)
    except (NoUnwindInfo, UnknownRegister, UnreadableMemory) as stop:
        return listed(snapshot, (), stop)
    while return_address and previous and len(found) + 1 < MOST_FRAMES:
        address = return_address
        try:
            previous, return_address = read_record(snapshot, record, previous)
        except UnreadableMemory as end:
            return listed(snapshot, found, None if ends_the_list(snapshot, end) else end)
        found.append((address, f"frame record {record.name}"))
    return listed(snapshot, found)


BS_BACKTRACE = Unwinder(
    name="bs_backtrace",
    summary="BSBacktraceLogger: like qi_stack_frame, and the outermost return address is lost",
    unwind=unwind,
    assumption=RecordList(most_frames=50, link=True, looks_ahead=True),
)
