"""Rows applied to every snapshot of a trace, natively, in one sweep.

This is `unwinders.apply` and `unwinders.walk` once more, over the columns of `unwinders.plan`; the readable ones are
the specification, and a test holds this to them at every site. What makes it fast:

* Memory is swept along with the steps: a write is applied once, a read is one load.
* A step whose row and whose relevant registers are the last step's, with nothing written that the last answer was
  read from, has the last answer.
* Stacks share their outer frames: a frame with the same pc and registers as one of the last step's, none of whose
  reads has been overwritten since, is that frame. So a step evaluates one frame or two, however deep its stack.

Which writes matter is known from ``marks``, one byte per granule of memory: set where a frame was read from. A write
to such a granule forgets the frames that read there or further in: those whose lowest read address is below its end.

The walk's guards hold along a chain if SP (or, where it is not known, one frame pointer) grows from frame to frame:
then no frame repeats. Where another guard would be needed, and for rows that are SLOW, the chain ends in
SPECIFICATION: those steps are left to the readable evaluator.

numba turns an expression of uint64 and int64 into float64: machine words are uint64 here, indices int64, and each
conversion is written down. Nothing here makes an array, so nothing counts references (``_nrt``), and what is called
for each step is part of the loop (``forceinline``): a tuple of arrays as an argument costs more than the work. The two
made the sweep 10 and 2 times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba import uint64 as u64

from testbed.backtraces import ROOT, SPECIFICATION, STOPPED
from unwinders.plan import (
    AT_CFA,
    AT_REGISTER,
    CALLER,
    CFA_PLUS,
    CONSTANT,
    COUNT,
    FIRST,
    FIRST_RUN,
    FOUND_BY,
    INTERRUPTED,
    NONE,
    REGISTER_PLUS,
    ROWS,
    RUNS,
    SAME,
    SIGNED,
    SLOW,
    SPECIAL,
    STAYS,
    UNASKED,
    UNDEFINED,
    ZERO,
)
from unwinders.prefetch import AHEAD, prefetch

# What stops a sweep: its end, an array that is full, or a pc whose row has not been asked for.
DONE, FULL, ASK_INTERRUPTED, ASK_CALLER = range(4)

# Places in a sweep's state.
STEP, WRITE, HEAD, NODES, SITES, LAST_ROW, LAST_SITE, FRESH = range(8)

FOUND = 0  # `_evaluate` found a caller; otherwise it returns ROOT, STOPPED or SPECIFICATION
NOWHERE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
MOST_NEW = 1 << 14  # frames that one step may add; one that would add more is left to the specification


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _place(address: Any, memory: Any) -> Any:
    """Where a byte of memory lies in the flat copy of it, or -1."""
    starts, sizes, places = memory[0], memory[1], memory[2]
    for i in range(len(starts)):
        offset = address - starts[i]  # wraps to a huge number below the start
        if offset < sizes[i]:
            return places[i] + np.int64(offset)
    return np.int64(-1)


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _load(address: Any, size: Any, memory: Any) -> Any:
    """A little-endian word of ``size`` bytes, and whether it could be read."""
    starts, sizes, places, octets, words, halves, marks = memory
    for i in range(len(starts)):
        offset = address - starts[i]
        if offset < sizes[i]:
            if sizes[i] - offset < u64(size):
                break
            at = places[i] + np.int64(offset)
            marks[at >> 3] = 1
            if size == 8 and at & 7 == 0:
                return words[at >> 3], True
            if size == 4 and at & 3 == 0:
                return u64(halves[at >> 2]), True
            break
    value = u64(0)
    if address + u64(size) < address:
        return value, False
    for k in range(size):  # not aligned, across two regions, or not mapped
        at = _place(address + u64(k), memory)
        if at < 0:
            return u64(0), False
        marks[at >> 3] = 1
        value |= u64(octets[at]) << u64(8 * k)
    return value, True


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _store(address: Any, size: Any, value: Any, memory: Any) -> Any:
    """Write, and say whether something was read from there; the mark is taken away."""
    starts, sizes, places, octets, words, halves, marks = memory
    for i in range(len(starts)):
        offset = address - starts[i]
        if offset < sizes[i]:
            at = places[i] + np.int64(offset)
            if sizes[i] - offset < u64(size) or (size != 8 and size != 4) or at & (size - 1) != 0:
                break
            if size == 8:
                words[at >> 3] = value
            else:
                halves[at >> 2] = np.uint32(value & u64(0xFFFF_FFFF))
            read = marks[at >> 3] != 0
            marks[at >> 3] = 0
            return read
    read = False
    for k in range(size):
        at = _place(address + u64(k), memory)
        if at >= 0:
            octets[at] = np.uint8((value >> u64(8 * k)) & u64(0xFF))
            read = read or marks[at >> 3] != 0
            marks[at >> 3] = 0
    return read


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _mask(size: Any) -> Any:
    return NOWHERE if size >= 8 else (u64(1) << u64(8 * size)) - u64(1)


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _value(
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
            return address & _mask(size), True, NOWHERE
        address &= word_mask
    elif kind == CONSTANT:
        return offset & _mask(size), True, NOWHERE
    else:
        return u64(0), False, NOWHERE
    value, readable = _load(address, size, memory)
    return value, readable, address


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _row_at(pc: Any, kind: Any, lookup: Any) -> Any:
    """What the map for this kind of frame says about a lookup pc."""
    starts, sizes, places, rows, outside = lookup
    for i in range(len(starts)):
        offset = pc - starts[i]
        if offset < sizes[i]:
            return np.int64(rows[kind, places[i] + np.int64(offset)])
    return np.int64(outside[kind])


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _evaluate(
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
        cfa, cfa_known, read = _value(cfa_rules, cfa_offsets, row, values, known, cfa, False, word_mask, memory)
        low = min(low, read)
        if not cfa_known and ra_kind != UNDEFINED:
            return STOPPED, none, none, none, False, low, -1
    if ra_kind == UNDEFINED:
        return ROOT, none, none, cfa, cfa_known, low, -1
    target, got, read = _value(ra_rules, ra_offsets, row, values, known, cfa, cfa_known, word_mask, memory)
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
        value, got, read = _value(rules, offsets, r, values, known, cfa, cfa_known, word_mask, memory)
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


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _known_already(cursor: Any, target: Any, recovered: Any, found_by: Any, out: Any, pointers: Any, nodes: Any) -> Any:
    """The node of the last step's chain that is this frame, or -1; and where to look for the next one further out."""
    pc, known, values, outer, origin = nodes[0], nodes[1], nodes[2], nodes[5], nodes[8]
    order = -1
    for j in range(pointers):
        if (recovered >> u64(j)) & u64(1):
            order = j
            break
    node = cursor
    while node >= 0:
        if pc[node] == target and known[node] == recovered and origin[node] == found_by:
            equal = True
            for i in range(len(out)):
                if values[node, i] != out[i]:
                    equal = False
                    break
            if equal:
                return node, node
        if order >= 0 and (known[node] >> u64(order)) & u64(1):
            if values[node, order] > out[order]:
                return np.int64(-1), cursor  # further out, all are above it
            if values[node, order] < out[order]:
                cursor = np.int64(outer[node])  # all that follow are above this one
        node = np.int64(outer[node])
    return np.int64(-1), cursor


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _finish(first: Any, used: Any, pointers: Any, nodes: Any) -> None:
    """Fill in what new nodes know of the chain further out, the outermost first."""
    known, outer, end, depth, low, mode, complete = (
        nodes[1],
        nodes[5],
        nodes[6],
        nodes[7],
        nodes[9],
        nodes[10],
        nodes[11],
    )
    everything = (u64(1) << u64(pointers)) - u64(1)
    for node in range(used - 1, first - 1, -1):
        further = np.int64(outer[node])
        if further < 0:
            end[node], depth[node], complete[node] = outer[node], 1, False
            mode[node] = -1
            continue
        depth[node] = depth[further] + 1
        low[node] = min(low[node], low[further])
        complete[node] = complete[further] or (known[further] & everything) == everything
        same_guard = mode[further] < 0 or mode[further] == mode[node]
        end[node] = end[further] if same_guard else SPECIFICATION


@njit(cache=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator,unused-ignore]
def _unchanged(step: Any, registers: Any, row: Any, rows: Any) -> Any:
    """True where the registers that a row uses are those of the step before."""
    runs, facts = rows[7], rows[8]
    first = facts[row, FIRST_RUN]
    for r in range(first, first + facts[row, RUNS]):
        difference = u64(0)
        for c in range(runs[r, 0], runs[r, 1]):
            difference |= registers[step, c] ^ registers[step - 1, c]
        if difference != u64(0):
            return False
    return True


@njit(cache=True, _nrt=False)  # type: ignore[untyped-decorator,unused-ignore]
def sweep(
    state: Any,
    asked: Any,
    stop: Any,
    registers: Any,
    first_row: Any,
    lines: Any,
    pc_column: Any,
    columns: Any,
    writes: Any,
    lookup: Any,
    rows: Any,
    facts: Any,
    memory: Any,
    nodes: Any,
    sites: Any,
    site: Any,
    scratch: Any,
) -> Any:
    """Walk the steps from ``state[STEP]`` to ``stop``; returns why it ended, having left the state to go on from.

    ``first_row`` is the address of the registers, ``lines`` what to prefetch of a row. ``nodes`` are the columns of
    `testbed.backtraces.Nodes`, then each chain's lowest read address, the register that its guards compare, whether a
    frame further out knows SP and all frame pointers, and the last site that leads to the node. ``sites`` are the
    columns of `testbed.backtraces.Sites`.
    """
    write_step, write_address, write_size, write_value = writes
    node_pc, node_known, node_values, node_cfa, node_cfa_known, node_outer = (
        nodes[0],
        nodes[1],
        nodes[2],
        nodes[3],
        nodes[4],
        nodes[5],
    )
    node_origin, node_low, node_mode, node_site = nodes[8], nodes[9], nodes[10], nodes[12]
    site_cfa, site_cfa_known, site_outer = sites
    special = rows[8]
    pointers = facts[3]
    width = len(columns)
    values, out = scratch
    all_known = NOWHERE if width >= 64 else (u64(1) << u64(width)) - u64(1)
    step, write, head, used, sites_used = state[STEP], state[WRITE], state[HEAD], state[NODES], state[SITES]
    last_row, last_site, fresh = state[LAST_ROW], state[LAST_SITE], state[FRESH] != 0
    why = DONE
    row_bytes = u64(registers.shape[1] * 8)
    while step < stop:
        soon = first_row + u64(step + AHEAD) * row_bytes
        for i in range(len(lines)):
            prefetch(soon + lines[i])
        while write < len(write_step) and np.int64(write_step[write]) < step:
            address, size = write_address[write], np.int64(write_size[write])
            if _store(address, size, write_value[write], memory):
                fresh = False
                # Past the last granule written: what was read from any byte of it is forgotten.
                end = ((address + u64(size - 1)) | u64(7)) + u64(1)
                while head >= 0 and node_low[head] < end:
                    head = np.int64(node_outer[head])
            write += 1
        pc = registers[step, pc_column]
        entry = _row_at(pc, INTERRUPTED, lookup)
        if entry == last_row and fresh and _unchanged(step, registers, entry - ROWS, rows):
            site[step] = last_site
            step += 1
            continue
        if entry == UNASKED:
            asked[0], why = pc, ASK_INTERRUPTED
            break
        if used + MOST_NEW >= len(node_pc) or sites_used >= len(site_outer):
            why = FULL
            break
        code, target, recovered, cfa, cfa_known = STOPPED, u64(0), u64(0), u64(0), False
        low, pointer, first_pointer = NOWHERE, -1, -1
        row = entry - ROWS
        if row >= 0:
            for i in range(width):
                values[i] = registers[step, columns[i]]
            code, target, recovered, cfa, cfa_known, low, pointer = _evaluate(
                row, True, values, all_known, rows, facts, memory, out
            )
            first_pointer = pointer
        outer_cfa, outer_cfa_known = cfa, cfa_known
        cursor = head
        first_new, previous, result = used, np.int64(-1), np.int64(code)
        while code == FOUND:
            origin = special[row, FOUND_BY]
            found, cursor = _known_already(cursor, target, recovered, origin, out, pointers, nodes)
            node = found if found >= 0 else used
            if previous >= 0:
                node_outer[previous] = node
            else:
                result = node
            if found >= 0:
                break
            if used - first_new >= MOST_NEW - 1:
                used, result = first_new, np.int64(SPECIFICATION)
                break
            used += 1
            node_pc[node], node_known[node], node_origin[node], node_site[node] = target, recovered, origin, -1
            for i in range(width):
                node_values[node, i] = out[i]
                values[i] = out[i]
            here = target
            entry_here = _row_at(here - u64(1), CALLER, lookup)
            if entry_here == UNASKED:
                asked[0], why = here, ASK_CALLER
                break
            row = entry_here - ROWS
            code, cfa, cfa_known, low, pointer = STOPPED, u64(0), False, NOWHERE, -1
            if row >= 0:
                code, target, recovered, cfa, cfa_known, low, pointer = _evaluate(
                    row, False, values, recovered, rows, facts, memory, out
                )
            node_cfa[node], node_cfa_known[node], node_outer[node] = cfa, cfa_known, code
            node_low[node], node_mode[node] = low, pointer
            previous = node
        if why != DONE:
            used = first_new  # the step is begun anew when the row is there
            break
        _finish(first_new, used, pointers, nodes)
        if result >= 0:
            head = result
            # A frame further out may repeat the interrupted one, unless SP grows all the way.
            if nodes[11][result] and (first_pointer != 0 or node_mode[result] > 0):
                result = np.int64(SPECIFICATION)
        cfa, cfa_known = outer_cfa, outer_cfa_known
        here_site = last_site
        if here_site < 0 or not (
            site_outer[here_site] == result and site_cfa_known[here_site] == cfa_known and site_cfa[here_site] == cfa
        ):
            here_site = np.int64(node_site[result]) if result >= 0 else np.int64(-1)
            if here_site < 0 or not (site_cfa_known[here_site] == cfa_known and site_cfa[here_site] == cfa):
                here_site = sites_used
                site_cfa[here_site], site_cfa_known[here_site], site_outer[here_site] = cfa, cfa_known, result
                sites_used += 1
            if result >= 0:
                node_site[result] = here_site
        site[step] = here_site
        last_row, last_site = entry, here_site
        fresh = entry >= ROWS
        step += 1
    state[STEP], state[WRITE], state[HEAD], state[NODES], state[SITES] = step, write, head, used, sites_used
    state[LAST_ROW], state[LAST_SITE], state[FRESH] = last_row, last_site, fresh
    return why
