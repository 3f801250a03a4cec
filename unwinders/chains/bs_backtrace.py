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

from testbed.contract.frames import Backtrace
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory
from unwinders.chains.frame_records import ends_the_list, link_register, listed, read_record, record_in_force
from unwinders.chains.qi_stack_frame import LISTED, MOST_FRAMES
from unwinders.shared_limits import RECORDS

LOGGER = "https://github.com/bestswifter/BSBacktraceLogger"


def unwind(snapshot: Snapshot) -> Backtrace:
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


LAST_ADDRESS = (
    "the loop leaves before it counts the last address, so that of the chain's last record is lost",
    LOGGER,
)

LIMITS = limits_of(
    """
    SIGNAL                     x86_64  refused ended_early skipped
    SIGNAL                     arm64   ended_early skipped wrong
    SIGNAL                     arm32   refused ended_early skipped wrong
    RECORD_REPLACED            x86_64  skipped wrong
    RECORD_REPLACED            arm64   wrong
    LINK_STALE                 arm64   refused stopped phantom wrong
    LINK_STALE                 arm32   refused stopped skipped phantom wrong
    LINK_LIVE+LINKED<1         arm64   ended_early phantom wrong
    LINK_LIVE+LINKED<1         arm32   ended_early skipped phantom wrong
    LINK_LIVE+MOVED_UP<1       arm64   wrong
    LEAF_RECORD+UNLINKED<1     arm64   ended_early
    LEAF_RECORD+UNLINKED<1     arm32   ended_early wrong
    NO_RECORD+UNLINKED<1       arm32   ended_early wrong
    LOST_REGISTER+FP_REUSED    x86_64  ended_early skipped
    FP_REUSED<1                arm64   ended_early skipped
    FP_REUSED<1                arm32   ended_early skipped wrong
    NO_CODE                    x86_64  skipped
    NO_CODE                    arm32   refused
    SIGNED+LINKED              arm64   ended_early wrong
    LEAF_RECORD+UNLINKED       arm64   refused
    LEAF_RECORD+UNLINKED       arm32   refused
    NO_RECORD+UNLINKED         arm32   refused ended_early
    MIXED_ISA+UNLINKED         arm32   refused
    MIXED_ISA                  arm32   ended_early skipped
    FP_BELOW                   x86_64  wrong
    FP_REUSED                  x86_64  refused stopped ended_early
    FP_REUSED                  arm64   refused stopped ended_early
    FP_REUSED                  arm32   refused stopped ended_early wrong
    FP_BACK+UNLINKED           x86_64  refused ended_early
    FRAMELESS+UNLINKED         x86_64  refused ended_early skipped
    FRAMELESS+UNLINKED         arm64   refused skipped wrong
    FRAMELESS+UNLINKED         arm32   refused ended_early skipped
    PROLOGUE+UNLINKED          x86_64  refused ended_early skipped
    PROLOGUE+UNLINKED          arm64   refused ended_early wrong
    PROLOGUE+UNLINKED          arm32   refused ended_early
    EPILOGUE+UNLINKED          x86_64  refused ended_early skipped wrong
    EPILOGUE+UNLINKED          arm64   refused ended_early wrong
    EPILOGUE+UNLINKED          arm32   refused
    FRAMELESS_CALLER+UNLINKED  x86_64  ended_early skipped
    FRAMELESS_CALLER+UNLINKED  arm64   ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  arm32   ended_early skipped wrong
    UNLINKED                   arm32   ended_early wrong
    REALIGNED+LINKED           x86_64  ended_early
    REALIGNED+LINKED           arm64   ended_early
    REALIGNED+LINKED           arm32   ended_early
    OPEN_END                   x86_64  stopped ended_early
    OPEN_END                   arm64   stopped ended_early
    OPEN_END                   arm32   stopped ended_early
    LAST_RECORD                x86_64  ended_early
    LAST_RECORD                arm64   ended_early
    LAST_RECORD                arm32   ended_early
    LOST_REGISTER              x86_64  stopped
    LOST_REGISTER              arm64   stopped
    LOST_REGISTER              arm32   stopped
    OTHER_STACK                x86_64  stopped
    OTHER_STACK                arm64   stopped
    OTHER_STACK                arm32   stopped
    SPLIT_FUNCTION             x86_64  stopped
    SPLIT_FUNCTION             arm64   stopped
    SPLIT_FUNCTION             arm32   stopped
    ROOT                       x86_64  stopped
    ROOT                       arm64   stopped
    ROOT                       arm32   stopped
    FP_FOR_LOCALS              x86_64  ended_early
    FP_FOR_LOCALS              arm32   skipped
    FP_FOR_LOCALS<1            arm64   ended_early
    FP_FOR_LOCALS<1            arm32   ended_early wrong
    """,
    {
        "SIGNAL": RECORDS["SIGNAL"],
        **LISTED,
        **RECORDS,
        "LAST_RECORD": LAST_ADDRESS,
        "LAST_RECORD<1": LAST_ADDRESS,
        "ROOT": ("a frame pointer of zero is an error to it, not the end of the stack: it prints no list", LOGGER),
    },
)

BS_BACKTRACE = Unwinder(
    name="bs_backtrace",
    summary="BSBacktraceLogger: like qi_stack_frame, and the outermost return address is lost",
    unwind=unwind,
    limits=LIMITS,
)
