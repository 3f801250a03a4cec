"""The truth about a run that is too long to hold: watched window by window, the same as `observe` finds of all of it.

The first time (`survey`) finds what only the end of something can tell (`Known`), and shows
the truth about each window as far as it is known then; a second time (`watch`) gives it as it is. Between two windows
there is a `WindowState`: the activations that are still there, with the registers at the steps that opened them, and
the run that is open. In a window's trace those registers are rows before all others, so that everything that looks at
an activation's first step, the judge too, finds a row there. Prologues, epilogues and frameless code are told of
activations that begin and end in one window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.truth.events import Bools, Ints, Stores, find_transfers
from testbed.truth.native import state as names
from testbed.truth.native.ending import mark_callers
from testbed.truth.native.state import State
from testbed.truth.path import FollowedRows, RowReading, forget, go_on, read, state_at_start
from testbed.truth.signatures import find_signed
from testbed.truth.sites import SiteFacts
from testbed.truth.transitions import OpenRun, OwnRows, mark_transitions
from testbed.truth.truth import Truth
from testbed.truth.windows.window import Known, Window

# What is known between two windows of a long run, and the truth about one window.


@dataclass(frozen=True, eq=False)
class WindowState:
    """What is known between two windows: what the rules know, and how rows are read until now. ``rows[i]`` are the
    registers at the call of row ``i`` and after it, ``sizes[i]`` the sizes of these two instructions."""

    state: State
    readings: Mapping[int, RowReading] = field(repr=False)
    rows: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    run: OpenRun | None
    signed: Bools = field(repr=False)  # by row: whether its return address is signed
    stored: NDArray[np.uint64] = field(repr=False)  # code addresses stored until now, as of `Transfers`
    ahead: Stores = field(repr=False)  # and since the last event

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class WindowTruth(Truth):
    """The truth about a window's trace; it holds for the rows of the window's own steps, as far as it is ``known``."""

    window: Window
    signatures: Bools = field(repr=False)
    known: Known = field(repr=False)

    @property
    def signed(self) -> Bools:
        return self.signatures

    @property
    def returns(self) -> NDArray[np.uint64]:
        return self.known.returns


MAX_PASSES = 32
NATIVE_FROM = 1000  # steps of a window


def survey(
    windows: Callable[[], Iterable[Window]],
    progress: Callable[[int], None] = lambda step: None,
    shown: Callable[[WindowTruth, WindowState | None], None] | None = None,
) -> Known:
    """Watch a run the first time, as often as it takes: once, unless windows later a row is read in another way.

    Each window's truth, as far as it is known then, is ``shown`` with the state before it; in each pass anew.
    """
    known = Known()
    for _ in range(MAX_PASSES):
        known, state = Known(dict(known.readings), known.readings), None
        for window in windows():
            truth, after = _look(window, state, known, first_time=True, shown=shown is not None)
            if shown is not None:
                shown(truth, state)
            state = after
            known.steps, known.ending = window.end, window.ending
            known.windows += 1
            progress(window.end)
        if known.readings == known.before:
            break
    return known


def watch(
    windows: Iterable[Window], known: Known, state: WindowState | None = None
) -> Iterator[tuple[WindowTruth, WindowState | None]]:
    """The truth about one window after the other, each with the state before it. ``state`` is that of the first one."""
    for window in windows:
        truth, after = _look(window, state, known, first_time=False)
        yield truth, state
        state = after


def _look(
    window: Window, before: WindowState | None, known: Known, *, first_time: bool, shown: bool = True
) -> tuple[WindowTruth, WindowState]:
    """The truth about one window, and the state behind it. What only who is ``shown`` it asks is left out else."""
    raw, natively = window.trace, len(window) >= NATIVE_FROM
    transfers = find_transfers(raw, before.stored, before.ahead) if before else find_transfers(raw)
    begin = before.state if before else state_at_start(raw)
    events = transfers.events(window.start, window.stop)
    after, log = go_on(raw, begin, events, window.first - window.start, window.start, natively=natively)
    found = read(after, log, known.before if first_time else known.readings, natively=natively)
    given, top = found.given(window.stop), found.whose[begin.now[names.GIVEN]]
    chosen = np.zeros(len(found), np.bool_)
    chosen[found.whose[given]], chosen[top], chosen[found.whose[found.nodes[-1]]] = True, True, True
    native(mark_callers, when=natively)(chosen, found.parent)
    members = np.flatnonzero(chosen)
    source = _sources(found, before, window.first)
    opened = found.column(names.OPENED)[members]
    old = opened < window.first
    if before:
        rows, sizes = before.rows[source[members[old]]], before.sizes[source[members[old]]]
        window = window.with_context(rows.reshape(-1, rows.shape[-1]), sizes.reshape(-1))
    number = np.full(len(found), -1, np.int32)
    number[members] = np.arange(len(members))
    opened = opened - window.first + window.start
    opened[old] = 2 * np.arange(np.count_nonzero(old)) + 1
    goes_on = found.addresses(names.GOES_ON)[members]
    later = known.goes_on if not first_time else {}
    for place, each in enumerate(found.column(names.SERIAL)[members].tolist()) if later else ():
        goes_on[place] = later.get(each, goes_on[place])
    activations = found.activations(members, number, opened, goes_on)
    of_row = _node_of_rows(
        window, number[found.whose[given]], activations.parent, np.flatnonzero(old), int(number[top])
    )
    told = ~old & ~found.marked(names.ALIVE)[members]
    told[of_row[-1]] = False
    trace, start, stop = window.trace, window.start, window.stop
    transfer = np.append(np.zeros(window.context, np.bool_), transfers.transfer)
    sites = SiteFacts(trace, activations, of_row, transfer, told, np.zeros(len(trace), np.bool_))
    own = OwnRows(sites, window.first, start, stop, window.context)
    run = mark_transitions(own, before.run if before else None, found, known, first_time)
    if first_time:
        gone_on = begin.addresses[: len(before) if before else 0, names.GOES_ON]
        known.note(found, before.readings if before else {}, gone_on, window.first, window.end)
    signed, signatures = np.zeros(len(found), np.bool_), np.zeros(len(trace), np.bool_)
    if shown and raw.arch.signature:
        if before:
            signed[: len(before.signed)] = before.signed
        signatures = find_signed(trace, activations, of_row, signed[members], start)
        # What is behind its own rows is only looked ahead at; of each activation the last row stays.
        signed[members[of_row[:stop]]] = signatures[:stop]
    undecided = np.zeros(len(trace), np.bool_)
    undecided[start:stop] = found.doubt[given]
    truth = WindowTruth(trace, activations, of_row, sites, undecided, window, signatures, known)
    kept, stays = forget(after, natively=natively)
    ahead = transfers.ahead(start - window.context, stop - window.context)
    entries = _rows_of(window, found.column(names.OPENED)[stays], source[stays], before)
    return truth, WindowState(kept, found.readings(), *entries, run, signed[stays], transfers.stored, ahead)


def _sources(found: FollowedRows, before: WindowState | None, first: int) -> Ints:
    """The row of each activation that has its registers at entry: of a copy it is that of the first original."""
    source, opened = np.arange(len(found)), found.column(names.OPENED)
    old = len(before) if before else 0
    while len(copies := np.flatnonzero((opened < first) & (source >= old))):
        source[copies] = found.column(names.SECOND)[source[copies]]
    return source


def _node_of_rows(
    window: Window, node: NDArray[np.int32], parent: NDArray[np.int32], inner: Ints, top: int
) -> NDArray[np.int32]:
    """The activation of every row: a call's row is its caller's, the row before the window is the last top's."""
    out = np.full(len(window.trace), node[-1], np.int32)
    out[0 : window.context : 2] = np.where(parent[inner] >= 0, parent[inner], inner)
    out[1 : window.context : 2] = inner
    out[window.context : window.start] = top
    out[window.start : window.stop] = node
    return out


def _rows_of(
    window: Window, opened: Ints, source: Ints, before: WindowState | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Of rows that were opened at some steps the registers before that step and at it; both sizes."""
    trace = window.trace
    rows, sizes = np.empty((len(opened), 2, trace.registers.shape[1]), np.uint64), np.empty((len(opened), 2), np.uint8)
    old = opened < window.first
    if before:
        rows[old], sizes[old] = before.rows[source[old]], before.sizes[source[old]]
    opened = opened[~old] - window.first + window.start
    for i, at in enumerate((np.maximum(opened - 1, 0), opened)):
        rows[~old, i], sizes[~old, i] = trace.registers[at], trace.sizes[at]
    return rows, sizes
