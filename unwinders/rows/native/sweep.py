"""Rows applied to every snapshot of a trace, natively, in one sweep.

This is `unwinders.rows.apply` and `unwinders.rows.walk` once more, over the columns of `unwinders.rows.native.plan`;
the readable ones are the specification, and a test holds this to them at every site. What makes it fast:

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
made the sweep 10 and 2 times faster. Memory is in `unwinders.rows.native.memory`, one row applied to one frame in
`unwinders.rows.native.row`, what is taken over from the step before in `unwinders.rows.native.chain`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64 as u64

from testbed.contract.native import SPECIFICATION, STOPPED
from testbed.native.compiled import compiled
from unwinders.rows.native.chain import finish, known_already, unchanged
from unwinders.rows.native.codes import CALLER, FOUND_BY, INTERRUPTED, ROWS, UNASKED
from unwinders.rows.native.memory import NOWHERE, store
from unwinders.rows.native.prefetch import AHEAD, prefetch
from unwinders.rows.native.row import FOUND, evaluate, row_at

# What stops a sweep: its end, an array that is full, or a pc whose row has not been asked for.
DONE, FULL, ASK_INTERRUPTED, ASK_CALLER = range(4)

# Places in a sweep's state.
STEP, WRITE, HEAD, NODES, SITES, LAST_ROW, LAST_SITE, FRESH = range(8)

MOST_NEW = 1 << 14  # frames that one step may add; one that would add more is left to the specification


@compiled()
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
    `testbed.contract.backtraces.Nodes`, then each chain's lowest read address, the register that its guards compare,
    whether a frame further out knows SP and all frame pointers, and the last site that leads to the node. ``sites`` are
    the columns of `testbed.contract.backtraces.Sites`.
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
            if store(address, size, write_value[write], memory):
                fresh = False
                # Past the last granule written: what was read from any byte of it is forgotten.
                end = ((address + u64(size - 1)) | u64(7)) + u64(1)
                while head >= 0 and node_low[head] < end:
                    head = np.int64(node_outer[head])
            write += 1
        pc = registers[step, pc_column]
        entry = row_at(pc, INTERRUPTED, lookup)
        if entry == last_row and fresh and unchanged(step, registers, entry - ROWS, rows):
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
            code, target, recovered, cfa, cfa_known, low, pointer = evaluate(
                row, True, values, all_known, rows, facts, memory, out
            )
            first_pointer = pointer
        outer_cfa, outer_cfa_known = cfa, cfa_known
        cursor = head
        first_new, previous, result = used, np.int64(-1), np.int64(code)
        while code == FOUND:
            origin = special[row, FOUND_BY]
            found, cursor = known_already(cursor, target, recovered, origin, out, pointers, nodes)
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
            entry_here = row_at(here - u64(1), CALLER, lookup)
            if entry_here == UNASKED:
                asked[0], why = here, ASK_CALLER
                break
            row = entry_here - ROWS
            code, cfa, cfa_known, low, pointer = STOPPED, u64(0), False, NOWHERE, -1
            if row >= 0:
                code, target, recovered, cfa, cfa_known, low, pointer = evaluate(
                    row, False, values, recovered, rows, facts, memory, out
                )
            node_cfa[node], node_cfa_known[node], node_outer[node] = cfa, cfa_known, code
            node_low[node], node_mode[node] = low, pointer
            previous = node
        if why != DONE:
            used = first_new  # the step is begun anew when the row is there
            break
        finish(first_new, used, pointers, nodes)
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
