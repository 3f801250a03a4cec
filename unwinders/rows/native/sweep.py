"""Rows applied to every snapshot of a trace, in one sweep.

A step says what `unwinders.rows.walk` says of its snapshot; a row is applied as `unwinders.rows.native.row` says. What
makes it fast:

* Memory is swept along with the steps: a write is applied once, a read is one load.
* A step whose row and whose relevant registers are the last step's, with nothing written that the last answer was
  read from, has the last answer.
* Stacks share their outer frames: a frame with the same pc and registers as one of the last step's, none of whose
  reads has been overwritten since, is that frame (`unwinders.rows.native.chain`). So a step evaluates one frame or two,
  however deep its stack.

Which writes matter is known from the marks of memory: one where a frame was read from. A write there forgets the frames
that read there or further in: those whose lowest read address is below its end.

The walk's guards hold along a chain if SP (or, where it is not known, one frame pointer) grows from frame to frame:
then no frame repeats. Where another guard would be needed, and for rows that are slow, the chain ends in SPECIFICATION:
those steps are left to the walk over one snapshot.

Nothing here makes an array, so nothing counts references, and what is called for each step is part of the loop
(``inline``): a tuple of arrays as an argument costs more than the work. The two made the sweep 10 and 2 times faster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.contract.native import SPECIFICATION, STOPPED
from testbed.native.compiled import compiled
from testbed.native.memory import prefetch
from testbed.trace.flat.native import FlatMemory, SweptWrites, store
from unwinders.rows.native.chain import fill_outer_facts, known_already
from unwinders.rows.native.codes import CALLER, INTERRUPTED, ROWS, UNASKED, StepOut
from unwinders.rows.native.prefetch import AHEAD
from unwinders.rows.native.row import FOUND, NOWHERE, row_at, unwind_one

# What stops a sweep: its end, an array that is full, or a pc whose row has not been asked for.
DONE, FULL, ASK_INTERRUPTED, ASK_CALLER = range(4)

# Places in a sweep's state.
STEP, WRITE, HEAD, NODES, SITES, LAST_ROW, LAST_SITE, FRESH = range(8)
UNKNOWN = -4  # no chain of callers: a row is missing
NO_ROW_THERE = StepOut(np.int64(STOPPED), u64(0), u64(0), u64(0), False, NOWHERE, np.int64(-1))
MOST_NEW = 1 << 14  # frames that one step may add; one that would add more is left to the specification


class SweptRegisters(NamedTuple):
    """The registers of all steps, their pcs, and which registers changed at each step.

    Where any of ``moving`` did, the row will probably be read: it lies ``address`` and ``lines`` on, and is prefetched.
    ``columns`` are those of a frame's registers. ``values`` and ``out`` have room for a frame's and its caller's.
    """

    table: NDArray[np.uint64]
    pc: NDArray[np.uint64]
    changed: NDArray[np.uint64]
    moving: np.uint64
    address: np.uint64
    lines: NDArray[np.uint64]
    columns: NDArray[np.int64]
    values: NDArray[np.uint64]
    out: NDArray[np.uint64]


class SweptSites(NamedTuple):
    """Columns of `testbed.contract.unwinder.InnermostClaims`, and the site of each step."""

    cfa: NDArray[np.uint64]
    cfa_known: NDArray[np.bool_]
    outer: NDArray[np.int32]
    of_step: NDArray[np.int32]


class SweptRun(NamedTuple):
    """A trace as it is swept: its registers, its memory as it is now, and the writes that are still to come."""

    registers: SweptRegisters
    memory: FlatMemory
    journal: SweptWrites


@compiled(pays_from=600_000)
def sweep(state: Any, asked: Any, run: Any, planned: Any, nodes: Any, sites: Any) -> Any:
    """Walk the steps from ``state[STEP]`` to the last; returns why it ended, having left the state to go on from.

    ``asked[0]`` is the pc whose row is missing, where it asks for one.
    """
    registers, memory = run.registers, run.memory
    width, values = len(registers.columns), registers.values
    all_known = NOWHERE if width >= 64 else (u64(1) << u64(width)) - u64(1)
    step, write, head, used, sites_used = state[STEP], state[WRITE], state[HEAD], state[NODES], state[SITES]
    last_row, last_site, fresh = state[LAST_ROW], state[LAST_SITE], state[FRESH] != 0
    why = DONE
    while step < len(registers.pc):
        _prefetch(step, registers)
        write, head, fresh = _apply_writes(step, write, head, fresh, run.journal, memory, nodes)
        pc = registers.pc[step]
        entry = row_at(pc, INTERRUPTED, planned.lookup)
        if entry == last_row and fresh and registers.changed[step] & planned.rows.uses[entry - ROWS] == u64(0):
            sites.of_step[step] = last_site
            step += 1
            continue
        if entry == UNASKED:
            asked[0], why = pc, ASK_INTERRUPTED
            break
        if used + MOST_NEW >= len(nodes.pc) or sites_used >= len(sites.outer):
            why = FULL
            break
        found = NO_ROW_THERE
        if entry >= ROWS:
            for i in range(width):
                values[i] = registers.table[step, registers.columns[i]]
            found = unwind_one(entry - ROWS, True, values, all_known, planned, memory, registers.out)
        result, end = _callers(entry - ROWS, found, head, used, run, planned, nodes)
        if result == UNKNOWN:
            asked[0], why = nodes.pc[end - 1], ASK_CALLER  # the step is begun anew when the row is there
            break
        fill_outer_facts(used, end, planned.pointers, nodes)
        used = end
        if result >= 0:
            head = result
            # A frame further out may repeat the interrupted one, unless SP grows all the way.
            if nodes.complete[result] and (found.pointer != 0 or nodes.mode[result] > 0):
                result = np.int64(SPECIFICATION)
        last_site = _site(result, found, last_site, sites_used, nodes, sites)
        sites_used = max(sites_used, last_site + 1)
        sites.of_step[step] = last_site
        last_row, fresh = entry, entry >= ROWS
        step += 1
    state[STEP], state[WRITE], state[HEAD], state[NODES], state[SITES] = step, write, head, used, sites_used
    state[LAST_ROW], state[LAST_SITE], state[FRESH] = last_row, last_site, fresh
    return why


@compiled(inline=True)
def _prefetch(step: Any, registers: Any) -> None:
    """The rows of registers that come soon."""
    soon = step + AHEAD
    if soon < len(registers.changed) and registers.changed[soon] & registers.moving != u64(0):
        row = registers.address + u64(soon) * u64(registers.table.shape[1] * 8)
        for i in range(len(registers.lines)):
            prefetch(row + registers.lines[i])


@compiled(inline=True)
def _apply_writes(step: Any, write: Any, head: Any, fresh: Any, journal: Any, memory: Any, nodes: Any) -> Any:
    """Memory as it is at a step; the frames that were read from what is written now are forgotten.

    Returns the first write that is still to come, the innermost frame that holds, and whether the last answer does.
    """
    while write < len(journal.step) and np.int64(journal.step[write]) < step:
        address, size = journal.address[write], np.int64(journal.size[write])
        if store(address, size, journal.value[write], memory):
            fresh = False
            # Past the last granule written: what was read from any byte of it is forgotten.
            end = ((address + u64(size - 1)) | u64(7)) + u64(1)
            while head >= 0 and nodes.low[head] < end:
                head = np.int64(nodes.outer[head])
        write += 1
    return write, head, fresh


@compiled(inline=True)
def _callers(row: Any, found: Any, head: Any, used: Any, run: Any, planned: Any, nodes: Any) -> Any:
    """The chain of callers: its first node or why there is none, or UNKNOWN; and how many nodes there are then.

    ``found`` is what the interrupted frame's row gave. ``head`` is the chain of the last step; nodes from ``used`` on
    are new, and after UNKNOWN the last of them is the one whose row has not been asked for.
    """
    values, out = run.registers.values, run.registers.out
    cursor, first_new, previous, result = head, used, np.int64(-1), np.int64(found.code)
    while found.code == FOUND:
        origin = planned.rows.found_by[row]
        known, cursor = known_already(cursor, found, origin, out, planned.pointers, nodes)
        node = known if known >= 0 else used
        if previous >= 0:
            nodes.outer[previous] = node
        else:
            result = node
        if known >= 0:
            break
        if used - first_new >= MOST_NEW - 1:
            return np.int64(SPECIFICATION), first_new
        used += 1
        nodes.pc[node], nodes.known[node], nodes.found_by[node], nodes.site[node] = (
            found.pc,
            found.recovered,
            origin,
            -1,
        )
        for i in range(len(values)):
            nodes.values[node, i] = out[i]
            values[i] = out[i]
        entry = row_at(found.pc - u64(1), CALLER, planned.lookup)  # inside the call, which may be a function's last
        if entry == UNASKED:
            return np.int64(UNKNOWN), used
        row = entry - ROWS
        found = unwind_one(row, False, values, found.recovered, planned, run.memory, out) if row >= 0 else NO_ROW_THERE
        nodes.cfa[node], nodes.cfa_known[node], nodes.outer[node] = found.cfa, found.cfa_known, found.code
        nodes.low[node], nodes.mode[node] = found.low, found.pointer
        previous = node
    return result, used


@compiled(inline=True)
def _site(outer: Any, found: Any, last: Any, used: Any, nodes: Any, sites: Any) -> Any:
    """The site that says this: the last step's, the last one that leads to ``outer``, or a new one, at ``used``."""
    if last >= 0 and sites.outer[last] == outer and _says(last, found, sites):
        return last
    site = np.int64(nodes.site[outer]) if outer >= 0 else np.int64(-1)
    if site < 0 or not _says(site, found, sites):
        site = used
        sites.cfa[site], sites.cfa_known[site], sites.outer[site] = found.cfa, found.cfa_known, outer
    if outer >= 0:
        nodes.site[outer] = site
    return site


@compiled(inline=True)
def _says(site: Any, found: Any, sites: Any) -> Any:
    """Whether a site says this CFA."""
    return sites.cfa_known[site] == found.cfa_known and sites.cfa[site] == found.cfa
