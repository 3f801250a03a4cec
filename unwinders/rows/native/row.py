"""One row applied to one frame, natively: `unwinders.rows.apply` over the columns of `unwinders.rows.native.codes`.

See `unwinders.rows.native.sweep` for what native code here may and may not do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64 as u64

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
    rules: Any, offsets: Any, r: Any, values: Any, known: Any, cfa: Any, cfa_known: Any, word_mask: Any, memory: Any
) -> Any:
    """What rule ``r`` says, whether it says anything, and the address that it read (NOWHERE: none)."""
    kind, base, size, offset = rules[r, 0], rules[r, 1], rules[r, 2], offsets[r]
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
    starts, sizes, places, rows, outside = lookup
    for i in range(len(starts)):
        offset = pc - starts[i]
        if offset < sizes[i]:
            return np.int64(rows[kind, places[i] + np.int64(offset)])
    return np.int64(outside[kind])


@compiled(inline=True)
def evaluate(
    row: Any,
    interrupted: Any,
    values: Any,
    known: Any,
    rows: Any,
    facts: Any,
    memory: Any,
    out: Any,
) -> Any:
    """Apply a row to a frame; ``out`` gets the caller's registers.

    Returns (FOUND or why there is no caller, caller's pc, its known registers, this frame's CFA, whether that is
    known, the lowest address read, the register that the guards compared or -1).
    """
    cfa_rules, cfa_offsets, ra_rules, ra_offsets, rules, offsets, same, _, special = rows
    word_mask, code_mask, signature, pointers = facts
    low, cfa, cfa_known, none = NOWHERE, u64(0), False, u64(0)
    zero, flags = special[row, ZERO], special[row, SPECIAL]
    if zero >= 0 and (known >> u64(zero)) & u64(1) and values[zero] == u64(0):
        return ROOT, none, none, cfa, False, low, -1
    if flags & SLOW:
        return SPECIFICATION, none, none, cfa, False, low, -1
    ra_kind = ra_rules[row, 0]
    if ra_kind == NONE:
        return STOPPED, none, none, cfa, False, low, -1
    if cfa_rules[row, 0] != NONE:
        cfa, cfa_known, read = value_of(cfa_rules, cfa_offsets, row, values, known, cfa, False, word_mask, memory)
        low = min(low, read)
        if not cfa_known and ra_kind != UNDEFINED:
            return STOPPED, none, none, none, False, low, -1
    if ra_kind == UNDEFINED:
        return ROOT, none, none, cfa, cfa_known, low, -1
    target, got, read = value_of(ra_rules, ra_offsets, row, values, known, cfa, cfa_known, word_mask, memory)
    low = min(low, read)
    if not got:
        return STOPPED, none, none, none, False, low, -1
    target &= code_mask
    if flags & SIGNED:
        target &= ~signature
    if target == none:
        return ROOT, none, none, cfa, cfa_known, low, -1
    recovered = known & same[row]
    for i in range(len(values)):
        out[i] = values[i] if (recovered >> u64(i)) & u64(1) else none
    first = special[row, FIRST]
    for r in range(first, first + special[row, COUNT]):
        value, got, read = value_of(rules, offsets, r, values, known, cfa, cfa_known, word_mask, memory)
        low = min(low, read)
        if got:
            own = rules[r, 3]
            out[own] = value
            recovered |= u64(1) << u64(own)
    pointer = -1
    both = known & recovered
    for j in range(pointers):
        if not (both >> u64(j)) & u64(1):
            continue
        here, there = values[j], out[j]
        pointer = j
        if j > 0 and there == none:
            if not interrupted and here == none:
                return SPECIFICATION, none, none, none, False, low, -1
        elif there < here or (there == here and not interrupted and not flags & STAYS):
            return STOPPED, none, none, none, False, low, -1
        elif not interrupted and (there == here or (j > 0 and here == none)):
            return SPECIFICATION, none, none, none, False, low, -1
        break
    if not interrupted and pointer < 0:
        return SPECIFICATION, none, none, none, False, low, -1
    return FOUND, target, recovered, cfa, cfa_known, low, pointer
