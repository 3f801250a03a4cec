"""QiStackFrameLogger, as iOS apps record a thread's methods: pc, the link register, the frame-pointer chain.

With ``buffer`` of 50 addresses::

    buffer[0]  = pc
    buffer[1]  = link register, if it is not zero
    then for the record at the frame pointer, and each it leads to:
    buffer[i]  = return address                     until one of its two words is zero, or it cannot be read

The link register is added *always*: in a leaf it is the caller that the chain misses, in a function that has called
something it is that call's stale return address, and in a settled frame before its first call it is the return
address once more. A record whose previous pointer is zero still gives its return address.
"""

from __future__ import annotations

from testbed.contract.assumption import RecordList
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnreadableMemory
from unwinders.chains.frame_records import (
    ends_the_list,
    link_register,
    listed,
    read_record,
    record_in_force,
)

MOST_FRAMES = 50


def unwind(snapshot: Snapshot) -> Backtrace:
    """LR, then the frame records up to the first that cannot be read."""
    record = record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    try:
        found = link_register(snapshot)
        pointer = snapshot.register(record.pointer)
    except UnknownRegister as stop:
        return listed(snapshot, found, stop)
    while pointer and len(found) + 1 < MOST_FRAMES:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory as end:
            return listed(snapshot, found, None if ends_the_list(snapshot, end) else end)
        if return_address == 0:
            break
        found.append((return_address, f"frame record {record.name}"))
    return listed(snapshot, found)


QI_STACK_FRAME = Unwinder(
    name="qi_stack_frame",
    summary="QiStackFrameLogger: pc, the link register whatever it holds, then the frame-pointer chain",
    unwind=unwind,
    assumption=RecordList(most_frames=50, link=True),
)
