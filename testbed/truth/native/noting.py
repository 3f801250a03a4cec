"""What each instruction of a range of code was seen to do, a byte of bits for each address.

The readable rules are in `testbed.truth.function_facts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.native.compiled import compiled

FRAMED, MOVING, SAVING, SAVING_LINK, SETTING, TAKING, STORING = 1, 2, 4, 8, 16, 32, 64


class CodeTable(NamedTuple):
    """By address from ``low`` on: the size of the instruction there, 0 where none was executed, and what it did,
    and the most that an activation had on the stack there."""

    low: np.uint64
    sizes: NDArray[np.uint8]
    bits: NDArray[np.uint8]
    frames: NDArray[np.uint64]


class SeenSteps(NamedTuple):
    """The columns of a trace whose rows from ``first`` to ``end`` are looked at, and the activations of its rows."""

    pc: NDArray[np.uint64]
    sizes: NDArray[np.uint8]
    sp: NDArray[np.uint64]
    pointer: NDArray[np.uint64]
    node: NDArray[np.int32]
    entry: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    opened: NDArray[np.int64]
    registers: NDArray[np.uint64]
    first: np.int64
    end: np.int64


@compiled(inline=True)
def _is_inside(k: Any, steps: Any) -> Any:
    return steps.sp[k] <= steps.pointer[k] < steps.cfa[steps.node[k]]


@compiled(inline=True)
def _takes(k: Any, steps: Any, columns: Any) -> Any:
    """Whether a step has found SP moved to what one of the registers held in front of it, or down by as much."""
    now, before = steps.sp[k], steps.sp[k - 1]
    for c in range(len(columns)):
        held = steps.registers[k - 1, columns[c]]
        if held == now or (now < before and held == before - now):
            return True
    return False


@compiled()
def note_steps(steps: Any, columns: Any, table: Any) -> Any:
    """Note what steps did; whether that was new, and whether the table cannot say all of it.

    ``columns`` are those of the registers that SP may be moved to.
    """
    new, odd = False, False
    for k in range(steps.first, steps.end):
        at, size = steps.pc[k] - table.low, steps.sizes[k]
        if at >= u64(len(table.sizes)) or size == 0:
            odd = True
            continue
        if table.sizes[at] != size:
            odd = odd or table.sizes[at] != 0
            new, table.sizes[at] = True, size
        if steps.sp[k] != steps.entry[steps.node[k]] and table.bits[at] & FRAMED == 0:
            new = True
            table.bits[at] |= FRAMED
        if steps.sp[k] < steps.entry[steps.node[k]]:
            held = steps.entry[steps.node[k]] - steps.sp[k]
            if held > table.frames[at]:
                new, table.frames[at] = True, held
        if k == 0 or steps.node[k] != steps.node[k - 1]:
            continue
        before = steps.pc[k - 1] - table.low
        if steps.sp[k] != steps.sp[k - 1]:
            if before >= u64(len(table.sizes)):
                odd = odd or _takes(k, steps, columns)
            elif table.bits[before] & TAKING == 0 and _takes(k, steps, columns):
                new = True
                table.bits[before] |= TAKING
        if steps.pointer[k] == steps.pointer[k - 1]:
            continue
        seen = MOVING if _is_inside(k, steps) and _is_inside(k - 1, steps) else 0
        if steps.pointer[k - 1] == steps.pointer[steps.opened[steps.node[k]]]:
            seen |= SETTING
        if before >= u64(len(table.sizes)):
            odd = odd or seen != 0
        elif np.int64(table.bits[before]) & seen != seen:
            new = True
            table.bits[before] |= np.uint8(seen)
    return new, odd


@compiled()
def note_saves(writes: Any, steps: Any, columns: Any, kept: Any, link: Any, word: Any, table: Any) -> Any:
    """Note which instructions stored what a callee-saved register, or the link register, held at entry; as above.

    ``writes`` are their steps, sizes and values; ``kept`` are the columns of those that chain no frames: a save of one
    that leaves SP where it is counts apart. ``link`` is a column, or -1.
    """
    new, odd = False, False
    step, size, value = writes
    for i in range(len(step)):
        k = np.int64(step[i])
        if k < steps.first or k >= steps.end or np.int64(size[i]) < word or value[i] == u64(0):
            continue
        if steps.sizes[k] == 0:
            continue  # the kernel, in a signal's frame
        entry, bits = steps.opened[steps.node[k]], 0
        for c in range(len(columns)):
            if steps.registers[entry, columns[c]] == value[i]:
                bits = SAVING
                break
        if k + 1 < len(steps.sp) and steps.sp[k + 1] == steps.sp[k]:
            for c in range(len(kept)):
                if steps.registers[entry, kept[c]] == value[i]:
                    bits |= STORING
                    break
        if link >= 0 and steps.registers[entry, link] == value[i]:
            bits |= SAVING_LINK
        at = steps.pc[k] - table.low
        if at >= u64(len(table.sizes)):
            odd = odd or bits != 0
        elif np.int64(table.bits[at]) & bits != bits:
            new = True
            table.bits[at] |= np.uint8(bits)
    return new, odd
