"""One row applied to one frame, natively: `unwinders.rows.apply` over the columns of `unwinders.rows.native.codes`.

See `unwinders.rows.native.sweep` for what native code here may and may not do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.contract.native import ROOT, SPECIFICATION, STOPPED
from testbed.native.compiled import compiled
from unwinders.rows.native.codes import (
    AT_CFA,
    AT_REGISTER,
    CFA_PLUS,
    CONSTANT,
    COUNT,
    FIRST,
    NONE,
    REGISTER_PLUS,
    SAME,
    SIGNED,
    SLOW,
    SPECIAL,
    STAYS,
    UNDEFINED,
    ZERO,
)
from unwinders.rows.native.memory import NOWHERE, load, mask

FOUND = 0  # `evaluate` found a caller; otherwise it returns ROOT, STOPPED or SPECIFICATION


@compiled(inline=True)
def value_of(
    columns: Any, r: Any, values: Any, known: Any, cfa: Any, cfa_known: Any, word_mask: Any, memory: Any
) -> Any:
    """What rule ``r`` says, whether it says anything, and the address that it read (NOWHERE: none)."""
    rules, offset = columns.rules, columns.offsets[r]
    kind, base, size = rules[r, 0], rules[r, 1], rules[r, 2]
    if kind in (AT_CFA, CFA_PLUS):
        if not cfa_known:
            return u64(0), False, NOWHERE
        address = (cfa + offset) & word_mask
        if kind == CFA_PLUS:
            return address, True, NOWHERE
    elif kind in (AT_REGISTER, REGISTER_PLUS, SAME):
        if not (known >> u64(base)) & u64(1):
            return u64(0), False, NOWHERE
        if kind == SAME:
            return values[base], True, NOWHERE
        address = values[base] + offset
        if kind == REGISTER_PLUS:
            return address & mask(size), True, NOWHERE
        address &= word_mask
    elif kind == CONSTANT:
        return offset & mask(size), True, NOWHERE
    else:
        return u64(0), False, NOWHERE
    value, readable = load(address, size, memory)
    return value, readable, address


@compiled(inline=True)
def row_at(pc: Any, kind: Any, lookup: Any) -> Any:
    """What the map for this kind of frame says about a lookup pc."""
    starts, sizes = lookup.start, lookup.size
    for i in range(len(starts)):
        offset = pc - starts[i]
        if offset < sizes[i]:
            return np.int64(lookup.map[kind, lookup.place[i] + np.int64(offset)])
    return np.int64(lookup.outside[kind])


@compiled(inline=True)
def evaluate(row: Any, interrupted: Any, values: Any, known: Any, planned: Any, memory: Any, out: Any) -> Any:
    """Apply a row to a frame; ``out`` gets the caller's registers.

    Returns (FOUND or why there is no caller, caller's pc, its known registers, this frame's CFA, whether that is
    known, the lowest address read, the register that the guards compared or -1).
    """
    code, target, cfa, cfa_known, low, place = _return_address(row, values, known, planned, memory)
    if code != FOUND:
        return code, u64(0), u64(0), cfa, cfa_known, low, -1
    recovered, lowest = _recover(row, values, known, cfa, cfa_known, planned, memory, out)
    low = min(low, lowest)
    said = cfa_known and planned.rows.cfa.rules[row, 0] == REGISTER_PLUS  # by a register, not by memory
    call_sp = cfa if said else NOWHERE
    code, pointer = _guard(row, interrupted, values, known, recovered, call_sp, place, planned, out)
    if code != FOUND:
        return code, u64(0), u64(0), u64(0), False, low, -1
    return FOUND, target, recovered, cfa, cfa_known, low, pointer


@compiled(inline=True)
def _return_address(row: Any, values: Any, known: Any, planned: Any, memory: Any) -> Any:
    """FOUND or why there is no caller, the caller's pc, the CFA, whether that is known, and the lowest address read.

    Last, where the return address was read (NOWHERE: not from memory; 0: around the end of the address space).
    """
    rows, word_mask = planned.rows, planned.word_mask
    low, cfa, cfa_known, none = NOWHERE, u64(0), False, u64(0)
    zero, flags = rows.facts[row, ZERO], rows.facts[row, SPECIAL]
    if zero >= 0 and (known >> u64(zero)) & u64(1) and values[zero] == u64(0):
        return ROOT, none, cfa, False, low, NOWHERE
    if flags & SLOW:
        return SPECIFICATION, none, cfa, False, low, NOWHERE
    kind = rows.ra.rules[row, 0]
    if kind == NONE:
        return STOPPED, none, cfa, False, low, NOWHERE
    if rows.cfa.rules[row, 0] != NONE:
        cfa, cfa_known, read = value_of(rows.cfa, row, values, known, cfa, False, word_mask, memory)
        low = min(low, read)
        if not cfa_known and kind != UNDEFINED:
            return STOPPED, none, none, False, low, NOWHERE
    if kind == UNDEFINED:
        return ROOT, none, cfa, cfa_known, low, NOWHERE
    target, got, read = value_of(rows.ra, row, values, known, cfa, cfa_known, word_mask, memory)
    low = min(low, read)
    if not got:
        return STOPPED, none, none, False, low, NOWHERE
    target &= planned.code_mask
    if flags & SIGNED:
        target &= ~planned.signature
    if target == none:
        return ROOT, none, cfa, cfa_known, low, NOWHERE
    return FOUND, target, cfa, cfa_known, low, _unwrapped(row, values, cfa, read, planned)


@compiled(inline=True)
def _recover(row: Any, values: Any, known: Any, cfa: Any, cfa_known: Any, planned: Any, memory: Any, out: Any) -> Any:
    """The caller's known registers, their values in ``out``; and the lowest address read."""
    rows, low = planned.rows, NOWHERE
    recovered = known & rows.same[row]
    for i in range(len(values)):
        out[i] = values[i] if (recovered >> u64(i)) & u64(1) else u64(0)
    first = rows.facts[row, FIRST]
    for r in range(first, first + rows.facts[row, COUNT]):
        value, got, read = value_of(rows.rules, r, values, known, cfa, cfa_known, planned.word_mask, memory)
        low = min(low, read)
        if got:
            own = rows.rules.rules[r, 3]
            out[own] = value
            recovered |= u64(1) << u64(own)
    return recovered, low


@compiled(inline=True)
def _guard(
    row: Any,
    interrupted: Any,
    values: Any,
    known: Any,
    recovered: Any,
    call_sp: Any,
    place: Any,
    planned: Any,
    out: Any,
) -> Any:
    """FOUND where SP, or else a frame pointer, grows from this frame to its caller, or why the walk ends; which one.

    ``call_sp`` is the CFA, if a register says it, and ``place`` where the return address was read. A frame whose SP may
    go back is left to the specification.
    """
    stays = planned.rows.facts[row, SPECIAL] & STAYS
    both = known & recovered
    for j in range(planned.pointers):
        if not (both >> u64(j)) & u64(1):
            continue
        here, there = values[j], out[j]
        if j > 0 and there == u64(0):
            if not interrupted and here == u64(0):
                return SPECIFICATION, np.int64(-1)
        elif j == 0 and there < here and there == call_sp and _is_alive(row, place, here, planned):
            return SPECIFICATION, np.int64(-1)
        elif there < here or (there == here and not interrupted and not stays):
            return STOPPED, np.int64(-1)
        elif not interrupted and (there == here or (j > 0 and here == u64(0))):
            return SPECIFICATION, np.int64(-1)
        return FOUND, np.int64(j)
    return FOUND if interrupted else SPECIFICATION, np.int64(-1)


@compiled(inline=True)
def _is_alive(row: Any, place: Any, sp: Any, planned: Any) -> Any:
    """True where a return address that was found is alive, see `unwinders.rows.walk.has_moved_up`."""
    if place != NOWHERE:
        return place >= sp
    kind = planned.rows.ra.rules[row, 0]
    return kind in (SAME, REGISTER_PLUS)


@compiled(inline=True)
def _unwrapped(row: Any, values: Any, cfa: Any, place: Any, planned: Any) -> Any:
    """Where a return address was read, or 0 if counting from the CFA or a register has wrapped around."""
    if place == NOWHERE:
        return place
    rules = planned.rows.ra.rules
    base = cfa if rules[row, 0] == AT_CFA else values[rules[row, 1]]
    falls = planned.rows.ra.offsets[row] >> u64(63) != u64(0)
    return place if (place < base) == falls else u64(0)
