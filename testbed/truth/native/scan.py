"""One pass over a trace's rows for what `testbed.truth.transfers` and `testbed.truth.sites` begin with.

A row of registers is several cache lines long, and every column that is looked at alone fetches all of them again. The
readable rules stay where they are; tests hold this to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled
from testbed.trace.native import changes_at


@compiled()
def scan(registers: Any, sizes: Any, places: Any, pc: Any, sp: Any, changed: Any, fall: Any, transfer: Any) -> None:
    """Fill in pc, SP, what changed, the address after the instruction before, and where control left it.

    ``places``: (pc, SP).
    """
    for k in range(len(registers)):
        changed[k] = changes_at(registers, k) if k > 0 else ~u64(0)
        here = registers[k, places[0]]
        pc[k], sp[k] = here, registers[k, places[1]]
        fall[k] = here if k == 0 else pc[k - 1] + u64(sizes[k - 1])
        transfer[k] = here != fall[k]


@compiled()
def risen(changed: Any, sp: Any, transfer: Any, others: Any, word: Any, out: Any) -> Any:
    """The steps without a transfer at which SP rose by one word and none of the ``others`` changed; how many."""
    found = 0
    for k in range(1, len(sp)):
        if not transfer[k] and sp[k] == sp[k - 1] + word and changed[k] & others == u64(0):
            out[found] = k
            found += 1
    return found


@compiled()
def pushed(writes: Any, sp: Any, fall: Any, word: Any, spans: Any, call: Any, stored: Any) -> Any:
    """Mark the steps whose fall-through address was pushed by the step before; other addresses of code that were
    stored, which ``stored`` takes, and how many. ``writes`` are their steps, addresses, sizes and values."""
    step, address, size, value = writes
    count = 0
    for i in range(len(step)):
        after = np.int64(step[i]) + 1
        if u64(size[i]) != word or after >= len(sp):
            continue
        if address[i] == sp[after] and value[i] == fall[after] and sp[after] + word == sp[after - 1]:
            call[after] = True
            continue
        for r in range(len(spans)):
            if spans[r, 0] <= value[i] < spans[r, 1]:
                stored[count] = value[i]
                count += 1
                break
    return count


@compiled()
def undone(sp: Any, word: Any, call: Any, transfer: Any, out: Any) -> None:
    """Mark the calls whose word one of the next two instructions takes off, the second one if the first leaves SP."""
    for k in range(len(sp)):
        if not call[k]:
            continue
        for behind in range(k + 1, min(k + 3, len(sp))):
            if transfer[behind]:
                break
            if sp[behind] == sp[k] + word:
                out[k] = True
            if sp[behind] != sp[k]:
                break


@compiled()
def still_jumps(sp: Any, fall: Any, transfer: Any, stored: Any, out: Any) -> Any:
    """The transfers that left SP alone whose fall-through address was ``stored`` (in order); how many."""
    found = 0
    for k in range(1, len(sp)):
        if transfer[k] and sp[k] == sp[k - 1]:
            low, high = 0, len(stored)
            while low < high:
                middle = (low + high) // 2
                if stored[middle] < fall[k]:
                    low = middle + 1
                else:
                    high = middle
            if low < len(stored) and stored[low] == fall[k]:
                out[found] = k
                found += 1
    return found


@compiled()
def far_moves(sp: Any, transfer: Any, far: Any, out: Any) -> Any:
    """The steps without a transfer at which SP moved by more than ``far``; how many."""
    found = 0
    for k in range(1, len(sp)):
        if not transfer[k] and sp[k] - sp[k - 1] + far > far + far:
            out[found] = k
            found += 1
    return found


@compiled()
def linked(registers: Any, link: Any, masks: Any, pc: Any, fall: Any, transfer: Any, call: Any) -> None:
    """Mark the calls by a link register, and then the returns to the very next address as transfers.

    ``masks``: the bits of a code address, and those without a signature.
    """
    before = u64(0)
    for k in range(len(pc)):
        value = registers[k, link]
        address = value & masks[0]
        call[k] = address == fall[k] and (transfer[k] or k == 0 or before != fall[k])
        if value & masks[1] == pc[k]:
            transfer[k] = True
        before = address


@compiled()
def distances(
    registers: Any, sp: Any, opened: Any, node: Any, columns: Any, isa: Any, pointer: Any, moved: Any, lowered: Any
) -> None:
    """Fill in FP, and whether it, and SP, is not what it was when the activation was opened. ``columns``: FP by
    instruction set."""
    for k in range(len(sp)):
        column, entry = columns[isa[k]], opened[node[k]]
        value = registers[k, column]
        pointer[k] = value
        moved[k] = value != registers[entry, column]
        lowered[k] = sp[k] != sp[entry]
