"""glibc's old ``backtrace()`` (sysdeps/generic/backtrace.c, before libgcc's unwinder took over): a bounded chain.

::

    struct layout { next, return address } at the frame pointer
    while  stack pointer <= frame pointer < end of the stack:  take the return address, go to next

Out of bounds simply ends the list. The real function starts at its own frame and leaves itself out; here it is asked
from the interrupted instruction. Its ``__libc_stack_end`` is the end of the mapping that SP lies in; a dump may have
less of it.
"""

from __future__ import annotations

from testbed.contract.assumption import RecordList
from testbed.contract.unwinder import Unwinder
from testbed.image import frame_record_at
from testbed.trace import Snapshot
from testbed.words.errors import NotInSnapshot, UnreadableMemory
from unwinders.chains.frame_records import ReturnAddresses, listed, read_record

MOST_FRAMES = 1024


def within_stack(snapshot: Snapshot) -> ReturnAddresses:
    """The frame records from FP on, as long as they lie between SP and the end of the stack."""
    record = frame_record_at(snapshot.images, snapshot.arch, snapshot.pc)
    end, whole = snapshot.stack_end()
    pointer = snapshot.register(record.pointer)
    while snapshot.sp <= pointer < end:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory:  # the record's second word lies past the end
            if whole:
                return
            raise
        yield return_address, f"frame record {record.name}"
    if pointer >= end and not whole:  # whether that is within bounds is not known
        raise NotInSnapshot(end)


GLIBC_BACKTRACE_FP = Unwinder(
    name="glibc_backtrace_fp",
    summary="glibc's old backtrace(): the frame-pointer chain inside the bounds of the stack, ended silently",
    unwind=listed(within_stack, MOST_FRAMES),
    assumption=RecordList(most_frames=1024, bounded=True),
)
