"""`testbed.truth.transfers.find_transfers` and `testbed.truth.sites.distances` for long traces, natively.

Compiled code finds the few steps that may be something rare; the readable rules decide about those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.trace.trace import changed_bits
from testbed.trace.words import words_before
from testbed.truth.native import scan
from testbed.truth.transfers import (
    FAR,
    NOTHING_STORED,
    Bools,
    Transfers,
    came_off,
    fall_at_sp,
    loaded_beside,
)

Words = NDArray[np.uint64]


def find_transfers_natively(trace: Trace, stored: Words = NOTHING_STORED) -> Transfers:
    """What `find_transfers` finds of a trace without signals."""
    arch, count, registers = trace.arch, len(trace), np.asarray(trace.registers)
    pc, sp, changed, fall = (np.empty(count, np.uint64) for _ in range(4))
    transfer, call, drops = (np.zeros(count, np.bool_) for _ in range(3))
    places = np.array([arch.index[arch.pc], arch.index[arch.sp]], np.int64)
    native(scan.scan)(registers, trace.sizes, places, pc, sp, changed, fall, transfer)
    vars(trace).update(pc=pc, sp=sp, changed=changed)  # as if they had been asked for
    few = np.empty(count, np.int64)
    if arch.link:
        far = few[: native(scan.far_moves)(sp, transfer, np.uint64(FAR), few)]
        transfer[loaded_beside(trace, far)] = True
        masks = np.array([arch.code_mask, arch.code_mask & ~arch.signature], np.uint64)
        native(scan.linked)(registers, arch.index[arch.link], masks, pc, fall, transfer, call)
    else:
        word = np.uint64(arch.word)
        moving = (arch.pc, arch.sp, arch.flags)
        others = np.uint64(changed_bits(i for i, r in enumerate(arch.registers) if r.name not in moving))
        transfer |= _came_off(trace, few[: native(scan.risen)(changed, sp, transfer, others, word, few)].copy())
        stored = _pushed(trace, fall, call, stored)
        native(scan.undone)(sp, word, call, transfer, drops)
        made = fall_at_sp(trace, fall, few[: native(scan.still_jumps)(sp, fall, transfer, stored, few)].copy())
        call = (call & (transfer | ~drops)) | made
        drops &= transfer
    call[:1] = False
    return Transfers(trace, fall, transfer, call, drops, stored)


def _came_off(trace: Trace, near: NDArray[np.int64]) -> Bools:
    """`came_off`; only words that were stored in parts are left to it."""
    values, known = words_before(trace, near, trace.sp[near - 1])
    rose = came_off(trace, near[~known])
    rose[near[known & (values == trace.pc[near])]] = True
    return rose


def _pushed(trace: Trace, fall: Words, call: Bools, stored: Words) -> Words:
    """Mark the calls that pushed; the code addresses stored in other ways, with the ``stored`` ones."""
    writes = trace.writes
    spans = [
        (segment.address + loaded.bias, segment.address + loaded.bias + len(segment.data))
        for loaded in trace.images
        for segment in loaded.image.segments
        if segment.executable
    ]
    journal = tuple(map(np.ascontiguousarray, (writes.step, writes.address, writes.size, writes.value)))
    others = np.empty(len(writes), np.uint64)
    bounds = np.array(spans, np.uint64).reshape(-1, 2)
    found = native(scan.pushed)(journal, trace.sp, fall, np.uint64(trace.arch.word), bounds, call, others)
    return np.union1d(stored, others[:found]) if found else stored


def distances_natively(
    trace: Trace, isa: NDArray[np.int8], opened: NDArray[np.int64], node: NDArray[np.int32], pointers: list[str]
) -> tuple[Words, Bools, Bools]:
    """What `distances` says; ``pointers`` are the frame pointers, by instruction set."""
    count = len(trace)
    pointer, moved, lowered = np.empty(count, np.uint64), np.empty(count, np.bool_), np.empty(count, np.bool_)
    columns = np.array([trace.arch.index[name] for name in pointers], np.int64)
    registers = np.asarray(trace.registers)
    native(scan.distances)(registers, trace.sp, opened, node, columns, isa, pointer, moved, lowered)
    return pointer, moved, lowered
