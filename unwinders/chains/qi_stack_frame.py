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

from types import MappingProxyType

from testbed.contract.frames import Backtrace
from testbed.contract.limits import Reasons, limits_of
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister, UnreadableMemory
from unwinders.chains.frame_records import (
    KERNEL_ARM64,
    ends_the_list,
    link_register,
    listed,
    read_record,
    record_in_force,
)
from unwinders.shared_limits import RECORDS, STALE

MOST_FRAMES = 50


def unwind(snapshot: Snapshot) -> Backtrace:
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


LISTED: Reasons = MappingProxyType(
    {
        "NO_CODE<1": RECORDS["NO_CODE"],
        "LEAF_RECORD+UNLINKED<1": RECORDS["LEAF_RECORD+UNLINKED"],
        "NO_RECORD+UNLINKED<1": RECORDS["NO_RECORD+UNLINKED"],
        "FP_REUSED<1": RECORDS["FP_REUSED"],
        "LINK_STALE": (
            "the link register is listed whatever it holds; here it is what an earlier call left behind",
            KERNEL_ARM64,
        ),
        "LINK_LIVE+LINKED<1": (
            "the return address is in the link register and in the frame record, so it is listed twice",
            KERNEL_ARM64,
        ),
        "LINK_LIVE+MOVED_UP<1": (
            "the return address is in the link register and in a record that has moved up, so it is listed twice",
            KERNEL_ARM64,
        ),
    }
)

LIMITS = limits_of(
    """
    SIGNAL                         x86_64  ended_early skipped wrong
    SIGNAL                         arm64   skipped wrong_register wrong
    SIGNAL                         arm32   ended_early skipped wrong
    RECORD_REPLACED                x86_64  skipped wrong
    RECORD_REPLACED                arm64   wrong
    RECORD_REPLACED<1              x86_64  skipped
    NO_CODE<1                      arm32   ended_early
    LINK_STALE                     arm64   skipped phantom wrong
    LINK_STALE                     arm32   skipped phantom wrong
    LINK_LIVE+LINKED<1             arm64   phantom wrong
    LINK_LIVE+LINKED<1             arm32   phantom wrong
    LINK_LIVE+MOVED_UP<1           arm64   phantom
    LINK_LIVE+MOVED_UP<1           arm32   phantom
    LEAF_RECORD+UNLINKED<1         arm32   phantom wrong
    NO_RECORD+UNLINKED<1           arm32   ended_early phantom wrong
    LOST_REGISTER+FP_REUSED        x86_64  skipped
    FP_REUSED<1                    arm64   ended_early skipped wrong
    FP_REUSED<1                    arm32   ended_early skipped wrong
    NO_CODE                        x86_64  skipped
    SIGNED+LINKED                  arm64   wrong
    NO_RECORD+UNLINKED             arm32   wrong
    MIXED_ISA+UNLINKED             arm32   ended_early
    MIXED_ISA                      arm32   ended_early skipped wrong
    FP_BELOW                       x86_64  phantom
    FP_REUSED                      x86_64  ended_early skipped wrong
    FP_REUSED                      arm64   ended_early wrong
    FP_REUSED                      arm32   ended_early wrong
    FP_BACK+UNLINKED               x86_64  ended_early skipped wrong
    FRAMELESS+UNLINKED             x86_64  ended_early skipped wrong
    FRAMELESS+LINK_STALE+UNLINKED  arm32   ended_early
    PROLOGUE+UNLINKED              x86_64  ended_early skipped wrong
    EPILOGUE+UNLINKED              x86_64  ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED      x86_64  ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED      arm64   ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED      arm32   ended_early skipped wrong
    FP_FOR_LOCALS                  arm32   ended_early skipped wrong
    SIGNED+UNLINKED                arm64   wrong
    OPEN_END                       x86_64  phantom
    OPEN_END                       arm64   phantom
    OPEN_END                       arm32   phantom
    FP_FOR_LOCALS                  x86_64  ended_early wrong
    FP_FOR_LOCALS<1                arm64   ended_early wrong
    FP_FOR_LOCALS<1                arm32   ended_early wrong
    """,
    {"SIGNAL": RECORDS["SIGNAL"], "RECORD_REPLACED<1": RECORDS["RECORD_REPLACED"], **LISTED, **RECORDS, **STALE},
)

QI_STACK_FRAME = Unwinder(
    name="qi_stack_frame",
    summary="QiStackFrameLogger: pc, the link register whatever it holds, then the frame-pointer chain",
    unwind=unwind,
    limits=LIMITS,
)
