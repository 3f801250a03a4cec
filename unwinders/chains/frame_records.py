"""What the frame-pointer loggers of the field share: a frame record read as two words, and frames that are addresses.

A logger prints a list of addresses and nothing else: no register is claimed but pc, and the end of the list is the
claim that the stack ends there. It knows one layout, that of the code it was interrupted in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from testbed.arch import FrameRecord
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, followed
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory

ReturnAddresses = Iterator[tuple[int, str]]
"""(address, found by) of each caller. An UnwindError ends the list where it is not known how it goes on."""


def link_register(snapshot: Snapshot) -> list[tuple[int, str]]:
    """What a logger adds first: the link register, if there is one and it is not zero.

    Raises UnknownRegister where the snapshot does not have it: whether the list begins with it is not known then.
    """
    link = snapshot.arch.link
    value = snapshot.register(link) if link is not None else 0
    return [(value, "link register")] if value else []


def read_record(snapshot: Snapshot, record: FrameRecord, pointer: int) -> tuple[int, int]:
    """``(caller's frame pointer, return address)`` of the record that ``pointer`` points to, as they are stored.

    Raises UnreadableMemory where one of the words is not mapped.
    """
    arch = snapshot.arch
    words = (pointer + record.saved_pointer, pointer + record.return_address)
    previous, return_address = (snapshot.memory.unsigned(at & arch.word_mask, arch.word) for at in words)
    return previous, return_address


def return_addresses(snapshot: Snapshot, record: FrameRecord, pointer: int) -> Iterator[int]:
    """Those of the records that lead from one to the next, up to a pointer that is zero or leads to nothing.

    Raises UnreadableMemory where a dump left the next record out: what a logger in the process would have found is not
    known.
    """
    while pointer:
        try:
            pointer, return_address = read_record(snapshot, record, pointer)
        except UnreadableMemory as end:
            if snapshot.is_unmapped(end.address, end.size):
                return
            raise
        yield return_address


def listed(
    addresses: Callable[[Snapshot], ReturnAddresses], most: int | None = None
) -> Callable[[Snapshot], Backtrace]:
    """The walk of an unwinder that lists addresses: the interrupted frame, then one for each, ``most`` in all."""

    def unwind(snapshot: Snapshot) -> Backtrace:
        arch = snapshot.arch
        found = ((arch.code_address(address), by) for address, by in islice(addresses(snapshot), most and most - 1))
        return followed(snapshot, (Frame(FrameKind.CALLER, pc, {arch.pc: pc}, found_by=by) for pc, by in found))

    return unwind
