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

from itertools import takewhile

from testbed.contract.assumption import RecordList
from testbed.contract.unwinder import Unwinder
from testbed.image import frame_record_at
from testbed.trace import Snapshot
from unwinders.chains.frame_records import ReturnAddresses, link_register, listed, return_addresses

MOST_FRAMES = 50


def logged(snapshot: Snapshot) -> ReturnAddresses:
    """LR, then the frame records up to the first that cannot be read."""
    record = frame_record_at(snapshot.images, snapshot.arch, snapshot.pc)
    yield from link_register(snapshot)
    found = return_addresses(snapshot, record, snapshot.register(record.pointer))
    yield from ((address, f"frame record {record.name}") for address in takewhile(bool, found))


QI_STACK_FRAME = Unwinder(
    name="qi_stack_frame",
    summary="QiStackFrameLogger: pc, the link register whatever it holds, then the frame-pointer chain",
    unwind=listed(logged, MOST_FRAMES),
    assumption=RecordList(most_frames=50, link=True),
)
