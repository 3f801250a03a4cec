"""Row unwinders over whole traces: an unwinder's ``unwind_trace`` is made from its ``row_for``.

The rows are those of ``row_for``, asked for as the walk comes to new pcs; they are applied by
`unwinders.rows.native.sweep`, which says what `unwinders.rows.walk` says, at machine speed. It needs that a row depends
on nothing but a frame's pc and kind; outside all images not even on the pc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.contract.native import SPECIFICATION
from testbed.contract.unwinder import Backtrace, Backtraces, CallerClaims, Frame, InnermostClaims, Why
from testbed.native.compiled import sooner
from testbed.trace import Snapshot, Trace
from testbed.trace.flat.memory import memory_of
from testbed.trace.trace import changed_bits
from testbed.words.errors import UnwindError
from unwinders.rows.native import sweep as swept
from unwinders.rows.native.chain import SweptNodes
from unwinders.rows.native.codes import CALLER, INTERRUPTED
from unwinders.rows.native.plan import Plan, fits
from unwinders.rows.native.prefetch import lines
from unwinders.rows.walk import MAX_FRAMES, RowFor, check_new, position, unwind_one

# Columns of nodes: `testbed.contract.unwinder.CallerClaims`, then what only the sweep needs.
_NODE = (
    *(np.uint64, np.uint64, np.uint64, np.uint64, np.bool_, np.int32, np.int32, np.int32, np.int32),
    *(np.uint64, np.int8, np.bool_, np.int32),
)
VALUES = 2  # the only one with a column per register

AHEAD = 1 << 16  # steps whose pcs are asked for at once

Unwind = Callable[[Snapshot], Backtrace]


def over_traces(unwind: Unwind, rows_for: Callable[[Arch], RowFor]) -> Callable[[Trace], Backtraces]:
    """The ``unwind_trace`` of a row unwinder, given its ``unwind`` and, for an architecture, its ``row_for``.

    The rows of the images that were walked last are kept: a long run is walked in pieces.
    """
    last: list[Plan] = []

    def unwind_trace(trace: Trace) -> Backtraces:
        plan = last.pop() if last else None
        if plan is None or plan.arch is not trace.arch or plan.images != trace.images:
            plan = plan_for(trace, rows_for(trace.arch))
        found = _walked(trace, plan, plan.row_for if plan else rows_for(trace.arch), unwind)
        if plan is not None:
            last.append(plan)  # not before: rows that are added meanwhile would be none of those that are walked by
        return found

    return unwind_trace


def plan_for(trace: Trace, row_for: RowFor) -> Plan | None:
    """A plan for the images of a trace, or None where they are too large for one."""
    return Plan(trace.arch, trace.images, row_for) if fits(trace.images) else None


def _walked(trace: Trace, plan: Plan | None, row_for: RowFor, unwind: Unwind) -> Backtraces:
    columns = _SweepColumns.of(len(trace))
    if plan is not None:
        _sweep(trace, plan, columns)
    else:  # one site: all is left to the specification
        columns.site[:] = 0
        columns.sites_used = 1
        columns.sites[2][0] = SPECIFICATION
    nodes = [column[: columns.nodes_used] for column in columns.nodes]
    return Backtraces(
        trace,
        tuple(plan.registers) if plan else (),
        columns.site,
        InnermostClaims(*(column[: columns.sites_used] for column in columns.sites)),
        CallerClaims(*nodes[:9]),
        tuple(plan.found_by) if plan else (),
        MAX_FRAMES,
        unwind,
        why_stopped(row_for),
    )


def why_stopped(row_for: RowFor) -> Why:
    """Why a walk stopped after some frames: the specification, asked once more at the last one."""

    def why(frames: tuple[Frame, ...], snapshot: Snapshot) -> UnwindError:
        visited = {position(snapshot.arch, frame) for frame in frames}
        try:
            _, caller = unwind_one(frames[-1], snapshot, row_for)
            if caller is not None:
                check_new(snapshot.arch, caller, visited)
        except UnwindError as stop:
            stop.pc = frames[-1].pc
            return stop
        raise AssertionError(f"{snapshot}: the walk over the trace stops at {frames[-1].pc:#x}, one step does not")

    return why


@dataclass(slots=True)
class _SweepColumns:
    """The arrays that a sweep fills, grown as needed."""

    site: NDArray[np.int32]
    sites: list[NDArray[Any]]
    nodes: list[NDArray[Any]]
    sites_used: int = 0
    nodes_used: int = 0

    @classmethod
    def of(cls, steps: int) -> _SweepColumns:
        nodes, sites = 2 * swept.MOST_NEW, 1 << 12  # pages that are never written cost nothing
        return cls(
            np.empty(steps, np.int32),
            [np.empty(sites, dtype) for dtype in (np.uint64, np.bool_, np.int32)],
            [np.empty((nodes, 0) if i == VALUES else nodes, dtype) for i, dtype in enumerate(_NODE)],
        )

    def grow(self) -> None:
        """Room for twice as many, of whatever is more than half full."""
        if 2 * self.nodes_used >= len(self.nodes[0]):
            self.nodes = [_longer(column, self.nodes_used, 2 * len(column)) for column in self.nodes]
        if 2 * self.sites_used >= len(self.sites[0]):
            self.sites = [_longer(column, self.sites_used, 2 * len(column)) for column in self.sites]

    def widen(self, width: int) -> None:
        """One column of values per register; what is there did not know the new ones."""
        values = self.nodes[VALUES]
        if values.shape[1] < width:
            self.nodes[VALUES] = np.empty((len(values), width), np.uint64)
            self.nodes[VALUES][: self.nodes_used, : values.shape[1]] = values[: self.nodes_used]
            self.nodes[VALUES][: self.nodes_used, values.shape[1] :] = 0


def _longer(column: NDArray[Any], used: int, length: int) -> NDArray[Any]:
    out = np.empty((length, *column.shape[1:]), column.dtype)
    out[:used] = column[:used]
    return out


def _sweep(trace: Trace, plan: Plan, columns: _SweepColumns) -> None:
    """Run the kernel to the trace's end, asking for rows and making room whenever it says so."""
    arch, pcs = trace.arch, trace.pc
    registers = np.asarray(trace.registers)  # of a file, too: an array like any other
    state = np.zeros(8, np.int64)
    state[swept.HEAD] = state[swept.LAST_ROW] = state[swept.LAST_SITE] = -1
    asked = np.zeros(1, np.uint64)  # the pc whose row is missing
    memory, journal = memory_of(trace)
    if not len(plan):  # else the walk says where a row is missing
        plan.ask(pcs[:AHEAD], INTERRUPTED)
    known = -1
    sweep = sooner(swept.sweep, len(trace))
    while True:
        if len(plan) != known:
            known = len(plan)
            index = np.array([arch.index[name] for name in plan.registers], np.int64)
            columns.widen(len(index))
            planned, run = plan.planned(), swept.SweptRun(_registers(trace, registers, index), memory, journal)
        nodes, sites = SweptNodes(*columns.nodes), swept.SweptSites(*(*columns.sites, columns.site))
        why = sweep(state, asked, run, planned, nodes, sites)
        columns.nodes_used, columns.sites_used = int(state[swept.NODES]), int(state[swept.SITES])
        if why == swept.DONE:
            return
        if why == swept.FULL:
            columns.grow()
        elif why == swept.ASK_INTERRUPTED:
            step = int(state[swept.STEP])
            plan.ask(pcs[step : step + AHEAD], INTERRUPTED)
        else:
            plan.ask(asked, CALLER)


def _registers(trace: Trace, registers: NDArray[np.uint64], index: NDArray[np.int64]) -> swept.SweptRegisters:
    """The registers of a trace, for frames that have those at ``index``."""
    arch = trace.arch
    return swept.SweptRegisters(
        registers,
        trace.pc,
        trace.changed,
        np.uint64(changed_bits(arch.index[name] for name in (arch.sp, *arch.frame_pointers))),
        np.uint64(registers.ctypes.data),
        lines(index, registers.itemsize),
        index,
        np.zeros(len(index), np.uint64),
        np.zeros(len(index), np.uint64),
    )
