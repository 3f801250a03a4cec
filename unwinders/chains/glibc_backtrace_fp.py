"""glibc's old ``backtrace()`` (sysdeps/generic/backtrace.c, before libgcc's unwinder took over): a bounded chain.

::

    struct layout { next, return address } at the frame pointer
    while  stack pointer <= frame pointer < end of the stack:  take the return address, go to next

Out of bounds simply ends the list. The real function starts at its own frame and leaves itself out; here it is asked
from the interrupted instruction. Its ``__libc_stack_end`` is the end of the mapping that SP lies in.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.frame_records import listed, not_a_pointer, read_record, record_in_force, unlinked
from unwinders.shared_limits import RECORDS, shared_limits

MOST_FRAMES = 1024


def unwind(snapshot: Snapshot) -> Backtrace:
    record = record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    try:
        end = snapshot.memory.mapped_until(snapshot.sp)
    except UnreadableMemory as stop:
        return listed(snapshot, (), stop)
    pointer = snapshot.registers[record.pointer]
    while snapshot.sp <= pointer < end and len(found) + 1 < MOST_FRAMES:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory:  # the record's second word lies past the end
            break
        found.append((return_address, f"frame record {record.name}"))
    return listed(snapshot, found)


LIMITS = (
    *unlinked(Outcome.SKIPPED, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.FRAMELESS_CALLER, Outcome.ENDED_EARLY, Outcome.SKIPPED),
    not_a_pointer(Trait.FP_OMITTED, Outcome.ENDED_EARLY, Outcome.WRONG),
    not_a_pointer(Trait.LEAF_RECORD, Outcome.WRONG),
    not_a_pointer(Trait.NO_RECORD, Outcome.WRONG, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.FP_REUSED, Outcome.ENDED_EARLY),
    not_a_pointer(Trait.MIXED_ISA, Outcome.ENDED_EARLY, Outcome.SKIPPED),
    *shared_limits(
        RECORDS,
        {
            Trait.SIGNED: (Outcome.WRONG,),
            Trait.SIGNAL: (
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.LOST_REGISTER: (Outcome.SKIPPED,),
            Trait.OTHER_STACK: (Outcome.ENDED_EARLY,),
            Trait.OPEN_END: (
                Outcome.PHANTOM,
                Outcome.WRONG,
            ),
        },
    ),
)

GLIBC_BACKTRACE_FP = Unwinder(
    name="glibc_backtrace_fp",
    summary="glibc's old backtrace(): the frame-pointer chain inside the bounds of the stack, ended silently",
    unwind=unwind,
    limits=LIMITS,
)
