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
from testbed.contract.unwinder import Limit, Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.frame_records import KERNEL_ARM64, listed, not_a_pointer, read_record, record_in_force, unlinked
from unwinders.chains.qi_stack_frame import MOST_FRAMES
from unwinders.shared_limits import RECORDS, shared_limits

LOGGER = "https://github.com/bestswifter/BSBacktraceLogger"


def unwind(snapshot: Snapshot) -> Backtrace:
    arch, record = snapshot.arch, record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    if arch.link is not None and snapshot.registers[arch.link]:
        found.append((snapshot.registers[arch.link], "link register"))
    try:
        if snapshot.registers[record.pointer] == 0:
            raise NoUnwindInfo("fail to get frame pointer: it is zero")
        previous, return_address = read_record(snapshot, record, snapshot.registers[record.pointer])
    except (NoUnwindInfo, UnreadableMemory) as stop:
        return listed(snapshot, (), stop)
    while return_address and previous and len(found) + 1 < MOST_FRAMES:
        address = return_address
        try:
            previous, return_address = read_record(snapshot, record, previous)
        except UnreadableMemory:
            break
        found.append((address, f"frame record {record.name}"))
    return listed(snapshot, found)


LIMITS = (
    *shared_limits(RECORDS, {Trait.SIGNED: (Outcome.WRONG,)}),
    Limit(
        Trait.ROOT,
        frozenset({Outcome.STOPPED}),
        "a frame pointer of zero is an error to it, not the end of the stack: it prints no list",
        LOGGER,
    ),
    Limit(
        Trait.LINK_STALE,
        frozenset({Outcome.WRONG}),
        "the link register is listed whatever it holds; here it is what an earlier call left behind",
        KERNEL_ARM64,
    ),
    Limit(
        Trait.LINK_LIVE,
        frozenset({Outcome.WRONG}),
        "the return address is in the link register and in the frame record, so it is listed twice",
        KERNEL_ARM64,
    ),
    Limit(
        Trait.CALLED,
        frozenset({Outcome.ENDED_EARLY}),
        "the loop leaves before it counts the last address, so the outermost return address is lost",
        LOGGER,
    ),
    *unlinked(Outcome.SKIPPED, Outcome.REFUSED),
    not_a_pointer(Trait.FRAMELESS_CALLER, Outcome.SKIPPED),
    not_a_pointer(Trait.FP_OMITTED, Outcome.REFUSED),
    not_a_pointer(Trait.NO_RECORD, Outcome.SKIPPED, Outcome.REFUSED),
    not_a_pointer(Trait.FP_REUSED, Outcome.REFUSED),
    *shared_limits(
        RECORDS,
        {
            Trait.SIGNAL: (Outcome.SKIPPED,),
            Trait.LOST_REGISTER: (Outcome.SKIPPED,),
            Trait.OPEN_END: (Outcome.PHANTOM,),
        },
    ),
)

BS_BACKTRACE = Unwinder(
    name="bs_backtrace",
    summary="BSBacktraceLogger: like qi_stack_frame, and the outermost return address is lost",
    unwind=unwind,
    limits=LIMITS,
)
