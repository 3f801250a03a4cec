"""The truth about a run that is too long to hold: watched window by window, the same as `observe` finds of all of it.

The run is watched twice. The first time (`survey`) finds what only the end of something can tell, see
`testbed.truth.windows.known`; the second time (`watch`) gives the truth about each window. The first time can show
it too, by what is known until then: `testbed.truth.windows.assumed` says whether it was right. Between two windows
there is a `WindowState`: the activations that are still there, with the registers at the steps that opened them, and
what is open of segments and runs. In a window's trace those registers are rows before all others, so that everything
that looks at an activation's first step, the judge too, finds a row there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.truth.events import Bools, Ints, find_transfers
from testbed.truth.native import state as names
from testbed.truth.native.ending import mark_callers
from testbed.truth.native.sites import steps_by_activation
from testbed.truth.path import forget, go_on, read, state_at_start
from testbed.truth.signatures import find_signed
from testbed.truth.sites import SiteFacts, distances, frames, isas
from testbed.truth.transitions import OwnRows, transitions
from testbed.truth.windows.assumed import Assumed
from testbed.truth.windows.known import Known
from testbed.truth.windows.segments import (
    NOT_YET,
    OpenSegment,
    Steps,
    count,
    cut,
    extents,
    extents_of,
    guessed_again,
    guesses,
)
from testbed.truth.windows.state import WindowState, WindowTruth
from testbed.truth.windows.window import Window

MAX_PASSES = 32
NATIVE_FROM = 1000  # steps of a window


def survey(
    windows: Callable[[], Iterable[Window]],
    progress: Callable[[int], None] = lambda step: None,
    shown: Callable[[WindowTruth, WindowState | None], None] | None = None,
) -> Known:
    """Watch a run the first time, as often as it takes: once, unless windows later a step is read in
    another way, or an activation that was over goes on.

    Each window's truth, as far as it is known then, is ``shown`` with the state before it; in each pass anew.
    """
    known = Known()
    for _ in range(MAX_PASSES):
        state: WindowState | None = None
        seen: _Look | None = None  # by what the next window shows, too: it tells most of what this one leaves open
        for window in windows():
            look = _Look(window, state, known, first_time=True, shown=shown is not None)
            state = look.after
            if shown is not None and seen is not None:
                seen.look_again(state.segments)
                shown(seen.truth(), seen.before)
            seen = look
            known.steps, known.ending = window.end, window.ending
            known.windows += 1
            progress(window.end)
        if shown is not None and seen is not None:
            shown(seen.truth(), seen.before)
        if state is not None:
            for segment in state.segments.values():
                segment.close(known)
        if known.complete:
            break
        known = known.for_another_pass()
    known.transitions.sort()
    return known


def watch(
    windows: Iterable[Window], known: Known, state: WindowState | None = None
) -> Iterator[tuple[WindowTruth, WindowState | None]]:
    """The truth about one window after the other, each with the state before it. ``state`` is that of the first one."""
    for window in windows:
        look = _Look(window, state, known, first_time=False, shown=True)
        yield look.truth(), state
        state = look.after


class _Look:
    """One window, looked at from the state before it; where it is ``shown``, its truth too."""

    def __init__(
        self, window: Window, before: WindowState | None, known: Known, *, first_time: bool, shown: bool
    ) -> None:
        raw = window.trace
        self._shown, self._assumed = shown, Assumed(window.first, window.end)
        self._natively = natively = len(window) >= NATIVE_FROM
        self._known, self.before, self._open = known, before, list[tuple[int, Ints, Steps]]()
        transfers = find_transfers(raw, before.stored, before.ahead) if before else find_transfers(raw)
        begin = before.state if before else state_at_start(raw)
        offset = window.first - window.start
        events = transfers.events(window.start, window.stop)
        after, log = go_on(raw, begin, events, offset, window.start, natively=natively)
        self._found = found = read(after, log, known.before if first_time else known.readings, natively=natively)
        node = found.whose[found.given(window.stop)]
        top = int(found.whose[found.nodes[-1]])
        chosen = np.zeros(len(found), np.bool_)
        chosen[node], chosen[found.whose[begin.now[names.GIVEN]]] = True, True
        chosen[top] = True
        native(mark_callers, when=natively)(chosen, found.parent)
        self._members = members = np.flatnonzero(chosen)
        self._source = self._sources(window.first)
        opened = found.column(names.OPENED)[members]
        old = opened < window.first
        context = (
            before.rows[self._source[members[old]]].reshape(-1, raw.registers.shape[1]) if before else raw.registers[:0]
        )
        sizes = before.sizes[self._source[members[old]]].reshape(-1) if before else raw.sizes[:0]
        self.window = window.with_context(context, sizes)
        self._ids = found.column(names.SERIAL)[members]
        number = np.full(len(found), -1, np.int32)
        number[members] = np.arange(len(members))
        opened = opened - window.first + self.window.start
        opened[old] = 2 * np.arange(np.count_nonzero(old)) + 1
        goes_on = found.addresses(names.GOES_ON)[members]
        for place, each in enumerate(self._ids.tolist()) if known.goes_on else ():
            goes_on[place] = known.goes_on.get(each, goes_on[place])
        self._activations = found.activations(members, number, opened, goes_on)
        self._old = old
        self._undecided = found.doubt[found.given(window.stop)]
        self._node = number[node]
        self._rows = self._node_of_rows(int(number[found.whose[begin.now[names.GIVEN]]]))
        trace = self.window.trace
        self._transfer = transfers.transfer[window.start : window.stop]
        self._isa = isas(trace)
        self._pointer, self._moved, self._lowered = distances(trace, self._isa, opened, self._rows, natively=natively)
        self._order = native(steps_by_activation)(self._node, len(members))
        alive = frozenset(found.column(names.SERIAL)[found.marked(names.ALIVE)].tolist())
        segments = self._segments(first_time)
        for each, segment in list(segments.items()):
            if each not in alive and each not in known.revived:
                if first_time:
                    segment.close(known)
                del segments[each]
        whose = (found, self._pointer, self._moved)
        steps = OwnRows(trace, window.first, self.window.start, self.window.stop, self.window.context)
        self._transition, run = transitions(steps, before.run if before else None, *whose, known, first_time)
        if first_time:
            gone_on = begin.addresses[: len(before) if before else 0, names.GOES_ON]
            known.note(found, before.readings if before else {}, gone_on, window.first, window.end)
        signed = np.zeros(len(found), np.bool_)
        if shown and raw.arch.signature:
            if before:
                signed[: len(before.signed)] = before.signed
            self._signed = find_signed(trace, self._activations, self._rows, signed[members], self.window.start)
            own = slice(0, self.window.stop)  # what is behind it is only looked ahead at
            signed[members[self._rows[own]]] = self._signed[own]  # of each one the last row stays
        else:
            self._signed = np.zeros(len(trace), np.bool_)
        kept, stays = forget(after, natively=natively)
        rows = self._rows_of(stays)
        ahead = (transfers.stored, transfers.ahead(window.start, window.stop))
        self.after = WindowState(kept, found.readings(), *rows, segments, run, signed[stays], *ahead)

    def _sources(self, first: int) -> Ints:
        """The row of each activation that has its registers at entry: of a copy it is that of the first original."""
        source, opened = np.arange(len(self._found)), self._found.column(names.OPENED)
        old = len(self.before) if self.before else 0
        while len(copies := np.flatnonzero((opened < first) & (source >= old))):
            source[copies] = self._found.column(names.SECOND)[source[copies]]
        return source

    def truth(self) -> WindowTruth:
        """All facts of the window's steps; the first time, as far as they are known."""
        prologue, epilogue, frameless = self._frames
        sites = SiteFacts(
            self._in_rows(prologue),
            self._in_rows(epilogue),
            self._in_rows(frameless),
            self._moved,
            self._in_rows(self._transition),
            self._pointer,
            self._isa,
        )
        told = (self._in_rows(self._undecided), self.window, self._signed, self._known, self._assumed)
        return WindowTruth(self.window.trace, self._activations, self._rows, sites, *told)

    def _in_rows(self, values: Bools) -> Bools:
        out = np.zeros(len(self.window.trace), np.bool_)
        out[self.window.start : self.window.stop] = values
        return out

    def _node_of_rows(self, top: int) -> NDArray[np.int32]:
        """The activation of every row: a call's row is its caller's, the row before the window is the last top's."""
        window = self.window
        out = np.full(len(window.trace), self._node[-1], np.int32)
        inner = np.flatnonzero(self._old).astype(np.int32)
        parent = self._activations.parent[inner]
        out[0 : window.context : 2] = np.where(parent >= 0, parent, inner)
        out[1 : window.context : 2] = inner
        out[window.context : window.start] = top
        out[window.start : window.stop] = self._node
        return out

    def _segments(self, first_time: bool) -> dict[int, OpenSegment]:
        """Cut the window's steps into segments, which settles prologues and epilogues; what is open after it."""
        window, known, trace = self.window, self._known, self.window.trace
        open_before = self.before.segments if self.before else {}
        segments = dict(open_before)
        alive = self._found.marked(names.ALIVE)[self._members]
        how_many = np.bincount(self._node, minlength=len(self._members))
        ends = np.cumsum(how_many)
        ids = self._ids
        crossing = alive.copy()
        if open_before:
            crossing |= np.isin(ids, np.fromiter(open_before, np.int64))
        if known.revived:
            crossing |= np.isin(ids, np.fromiter(known.revived, np.int64))
        if first_time:
            # Whoever is open was there in each window until now, unless it was over and goes on.
            again = ids[self._old & (how_many > 0)].tolist()
            known.reviving.update(set(again) - open_before.keys() - known.revived)
        here = slice(window.start, window.stop)
        sp, pointer, moved, lowered = trace.sp[here], self._pointer[here], self._moved[here], self._lowered[here]
        if self._shown:
            whole = self._order[~crossing[self._node[self._order]]]
            self._frames = frames(
                self._node,
                whole,
                self._transfer,
                (sp, pointer),
                (moved, lowered),
                natively=len(window) >= NATIVE_FROM,
            )
        for index in np.flatnonzero(crossing & (how_many > 0)).tolist():
            at = self._order[ends[index] - how_many[index] : ends[index]]
            steps = Steps(at + window.first, sp[at], pointer[at], moved[at], lowered[at], self._transfer[at])
            key = int(ids[index])
            before = open_before.get(key)
            found = cut(steps, before, known)
            if not first_time:
                segments[key] = found.after
                self._place(at, steps, *extents(steps, before, found, known))
                continue
            segments[key] = count(steps, before, found, known)
            if found.late != NOT_YET:
                known.revised.append((found.late, window.end))
            if self._shown:
                made = guesses(steps, before, found, bool(alive[index]))
                self._place(at, steps, *extents_of(steps, made))
                # Of a segment that begins and ends here nothing more will be known: a run may have millions of them.
                kept = [guess for guess in made if guess.key < guess.first or (guess is made[-1] and alive[index])]
                if alive[index]:
                    self._open.append((len(self._assumed.guesses) + len(kept) - 1, at, steps))
                self._assumed.guesses += kept
        return segments

    def look_again(self, later: Mapping[int, OpenSegment]) -> None:
        """The first time: what open segments have come to since; ``later`` are those open behind the next window."""
        still_open = {segment.key: segment for segment in later.values()}
        for number, at, steps in self._open:
            guess = self._assumed.guesses[number]
            better = guessed_again(guess, still_open.get(guess.key), self._known)
            if better.extent != guess.extent:
                own = steps.step >= guess.first
                self._assumed.guesses[number] = better
                first, last, still = better.extent
                here, step = at[own], steps.step[own]
                self._frames[0][here], self._frames[1][here], self._frames[2][here] = step < first, step > last, still

    def _place(self, at: Ints, steps: Steps, first: Ints, last: Ints, still: Bools) -> None:
        """Prologue, epilogue and frameless of an activation's own steps, by the extents of its segments."""
        self._frames[0][at], self._frames[1][at], self._frames[2][at] = steps.step < first, steps.step > last, still

    def _rows_of(self, stays: Ints) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """The registers at the step before the rows that stay were opened, and at that step; both sizes."""
        trace, window = self.window.trace, self.window
        rows = np.empty((len(stays), 2, trace.registers.shape[1]), np.uint64)
        sizes = np.empty((len(stays), 2), np.uint8)
        opened = self._found.column(names.OPENED)[stays]
        old = opened < window.first
        if self.before:
            source = self._source[stays[old]]
            rows[old], sizes[old] = self.before.rows[source], self.before.sizes[source]
        opened = opened[~old] - window.first + window.start
        for i, at in enumerate((np.maximum(opened - 1, 0), opened)):
            rows[~old, i], sizes[~old, i] = trace.registers[at], trace.sizes[at]
        return rows, sizes
