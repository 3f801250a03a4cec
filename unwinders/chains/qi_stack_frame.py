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

from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Limit, Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.frame_records import KERNEL_ARM64, listed, not_a_pointer, read_record, record_in_force, unlinked
from unwinders.shared_limits import RECORDS, shared_limits

MOST_FRAMES = 50


def unwind(snapshot: Snapshot) -> Backtrace:
    arch, record = snapshot.arch, record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    if arch.link is not None and snapshot.registers[arch.link]:
        found.append((snapshot.registers[arch.link], "link register"))
    pointer = snapshot.registers[record.pointer]
    while pointer and len(found) + 1 < MOST_FRAMES:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory:
            break
        if return_address == 0:
            break
        found.append((return_address, f"frame record {record.name}"))
    return listed(snapshot, found)


LIMITS = (
    Limit(
        Trait.LINK_STALE,
        frozenset({Outcome.PHANTOM, Outcome.WRONG, Outcome.SKIPPED}),
        "the link register is listed whatever it holds; here it is what an earlier call left behind",
        KERNEL_ARM64,
    ),
    Limit(
        Trait.LINK_LIVE,
        frozenset({Outcome.PHANTOM}),
        "the return address is in the link register and in the frame record, so it is listed twice",
        KERNEL_ARM64,
    ),
    *unlinked(Outcome.SKIPPED, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.FRAMELESS_CALLER, Outcome.ENDED_EARLY, Outcome.WRONG, Outcome.SKIPPED),
    not_a_pointer(Trait.FP_OMITTED, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.LEAF_RECORD, Outcome.WRONG),
    not_a_pointer(Trait.NO_RECORD, Outcome.WRONG, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.FP_REUSED, Outcome.ENDED_EARLY, Outcome.WRONG),
    not_a_pointer(Trait.MIXED_ISA, Outcome.WRONG),
    *shared_limits(
        RECORDS,
        {
            Trait.SIGNED: (Outcome.WRONG,),
            Trait.SIGNAL: (
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.LOST_REGISTER: (Outcome.SKIPPED,),
            Trait.OPEN_END: (
                Outcome.PHANTOM,
                Outcome.WRONG,
            ),
        },
    ),
)

QI_STACK_FRAME = Unwinder(
    name="qi_stack_frame",
    summary="QiStackFrameLogger: pc, the link register whatever it holds, then the frame-pointer chain",
    unwind=unwind,
    limits=LIMITS,
)
