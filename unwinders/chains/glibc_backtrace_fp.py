"""glibc's old ``backtrace()`` (sysdeps/generic/backtrace.c, before libgcc's unwinder took over): a bounded chain.

::

    struct layout { next, return address } at the frame pointer
    while  stack pointer <= frame pointer < end of the stack:  take the return address, go to next

Out of bounds simply ends the list. The real function starts at its own frame and leaves itself out; here it is asked
from the interrupted instruction. Its ``__libc_stack_end`` is the end of the mapping that SP lies in; a dump may have
less of it.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from testbed.words.errors import NotInSnapshot, UnknownRegister, UnreadableMemory
from unwinders.chains.frame_records import listed, read_record, record_in_force
from unwinders.shared_limits import RECORDS

MOST_FRAMES = 1024


def unwind(snapshot: Snapshot) -> Backtrace:
    record = record_in_force(snapshot)
    found: list[tuple[int, str]] = []
    try:
        end, whole = snapshot.stack_end()
        pointer = snapshot.register(record.pointer)
    except (NotInSnapshot, UnknownRegister, UnreadableMemory) as stop:
        return listed(snapshot, (), stop)
    while snapshot.sp <= pointer < end and len(found) + 1 < MOST_FRAMES:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory as past:  # the record's second word lies past the end
            return listed(snapshot, found, None if whole else past)
        found.append((return_address, f"frame record {record.name}"))
    # Whether a record that lies past the end of a dump's part of the stack is within bounds is not known.
    return listed(snapshot, found, NotInSnapshot(end) if pointer >= end and not whole else None)


LIMITS = limits_of(
    """
    SIGNAL                     x86_64  ended_early skipped wrong
    SIGNAL                     arm64   skipped wrong_register wrong
    SIGNAL                     arm32   ended_early skipped wrong
    RECORD_REPLACED            x86_64  skipped wrong
    RECORD_REPLACED            arm64   skipped wrong
    RECORD_REPLACED<1          x86_64  skipped
    RECORD_REPLACED<1          arm64   skipped
    NO_CODE                    x86_64  skipped
    NO_CODE                    arm64   skipped
    NO_CODE                    arm32   ended_early skipped
    SIGNED+LINKED              arm64   wrong
    LEAF_RECORD+UNLINKED       arm64   ended_early skipped
    LEAF_RECORD+UNLINKED       arm32   ended_early skipped wrong
    NO_RECORD+UNLINKED         arm32   ended_early skipped wrong
    LOST_REGISTER+FP_REUSED    x86_64  skipped
    LOST_REGISTER+FP_REUSED    arm64   skipped
    LOST_REGISTER+FP_REUSED    arm32   skipped
    MIXED_ISA+UNLINKED         arm32   ended_early skipped
    MIXED_ISA                  arm32   ended_early skipped
    FP_REUSED                  x86_64  ended_early skipped wrong
    FP_REUSED                  arm64   ended_early skipped wrong
    FP_REUSED                  arm32   ended_early skipped wrong
    FP_BACK+UNLINKED           x86_64  ended_early skipped wrong
    FRAMELESS+UNLINKED         x86_64  ended_early skipped wrong
    FRAMELESS+UNLINKED         arm64   ended_early skipped wrong
    FRAMELESS+UNLINKED         arm32   ended_early skipped wrong
    PROLOGUE+UNLINKED          x86_64  ended_early skipped wrong
    PROLOGUE+UNLINKED          arm64   ended_early skipped wrong
    PROLOGUE+UNLINKED          arm32   ended_early skipped wrong
    EPILOGUE+UNLINKED          x86_64  ended_early skipped wrong
    EPILOGUE+UNLINKED          arm64   ended_early skipped wrong
    EPILOGUE+UNLINKED          arm32   ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  x86_64  ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  arm64   ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED  arm32   ended_early skipped
    UNLINKED                   arm32   wrong
    FP_FOR_LOCALS              x86_64  wrong
    FP_FOR_LOCALS              arm64   wrong
    FP_FOR_LOCALS              arm32   ended_early skipped
    OPEN_END                   x86_64  phantom
    OPEN_END                   arm64   phantom
    OPEN_END                   arm32   phantom
    OTHER_STACK                x86_64  ended_early
    OTHER_STACK                arm64   ended_early
    OTHER_STACK                arm32   ended_early
    """,
    {**RECORDS, "RECORD_REPLACED<1": RECORDS["RECORD_REPLACED"]},
)

GLIBC_BACKTRACE_FP = Unwinder(
    name="glibc_backtrace_fp",
    summary="glibc's old backtrace(): the frame-pointer chain inside the bounds of the stack, ended silently",
    unwind=unwind,
    limits=LIMITS,
)
