"""A run that is too long to hold, watched and judged in pieces; every fact is what `testbed.run` finds of the whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from testbed.build import Built
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.machine.recording import chunks_of
from testbed.runs.run import Run, executed_near, failure_of, judge_steps, visited
from testbed.runs.side_by_side import SideBySide, side_by_side
from testbed.trace import Exited
from testbed.trace.trace import HELD, HELD_BY_THREADS, Checkpoint, Chunks
from testbed.truth.expectations import WatchedPart, disagreements_in_pieces
from testbed.truth.windows.watch import WindowState, WindowTruth, survey, watch
from testbed.truth.windows.window import Held, Known, Window, windows
from testbed.verdicts.trace import Verdicts, judge_trace
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts, Verdict, counted
from testbed.words.errors import EmulationError, UsageError

KEPT = 16  # places from which a part of the run is made again

Progress = Callable[[int], None]  # called with the step that was reached


@dataclass(frozen=True, eq=False)
class _WindowStart:
    """Where a window begins: the machine, the rows held before it, and what the truth knows there."""

    keyframe: Checkpoint
    held: Held
    state: WindowState | None


@dataclass(eq=False)
class JudgedLong:
    """An unwinder's verdicts counted, of those pieces that were judged, by their first step.

    ``said`` is what it said at some steps, among them the first of each kind, where it is asked one by one.
    """

    unwinder: Unwinder
    pieces: dict[int, Counts] = field(default_factory=dict)
    said: dict[int, Backtrace] = field(default_factory=dict)


@dataclass(eq=False)
class LongRun:
    """A run that was watched once. ``chunks`` makes it again, from its start or from a keyframe."""

    built: Built
    chunks: Chunks = field(repr=False)
    known: Known = field(repr=False)
    firsts: Sequence[int] = field(repr=False)  # the first step of every piece
    _judged: dict[str, JudgedLong] = field(repr=False)
    _places: dict[int, _WindowStart] = field(repr=False)
    _piece: tuple[int, Run, Window] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.known.steps

    def __str__(self) -> str:
        built = self.built
        return f"{built.program.name} · {built.arch} · {built.recipe.name}: {len(self):,} steps, {self.ending}"

    @property
    def end(self) -> Exited | EmulationError:
        assert self.known.ending is not None
        return self.known.ending

    @property
    def ending(self) -> str:
        """How the run ended, in a few words."""
        return f"exit {self.end.status}" if isinstance(self.end, Exited) else "did not reach its exit"

    def pieces(self, first: int = 0) -> Iterator[tuple[Run, Window]]:
        """The run in pieces from the one on that has step ``first``, each a `Run` of its own for a short while.

        Steps of a piece are rows: ``window.row(step)``. It is valid until the next one is asked for.
        """
        place = max((at for at in self._places if at <= first), default=None)
        start = self._places[place] if place is not None else None
        cut = windows(self.chunks(start.keyframe if start else None), start.held if start else None)
        for truth, _ in watch(cut, self.known, start.state if start else None):
            if truth.window.end > first:
                yield Run(self.built, truth.trace, truth), truth.window

    def pieces_at(self, firsts: Collection[int]) -> Iterator[tuple[Run, Window]]:
        """The pieces that begin at some steps."""
        left = sorted(firsts, reverse=True)
        while left:
            for piece, window in self.pieces(left[-1]):
                if window.first == left[-1]:
                    left.pop()
                    yield piece, window
                if not left or any(window.end < place <= left[-1] for place in self._places):
                    break  # the next one is soon reached from another place

    def judged(self, unwinder: Unwinder) -> JudgedLong:
        """What is known of an unwinder."""
        return self._judged.setdefault(unwinder.name, JudgedLong(unwinder))

    def piece(self, step: int) -> tuple[Run, Window]:
        """The piece that has a step; the last one asked for is kept."""
        if not 0 <= step < len(self):
            raise UsageError(f"@{step}: this run has the steps @0 to @{len(self) - 1}")
        if self._piece is None or not self._piece[2].first <= step < self._piece[2].end:
            run, window = next(self.pieces(step))
            self._piece = window.first, run, window
        return self._piece[1], self._piece[2]

    def step_at(self, location: str) -> int:
        """The step at a location, as `Run.step_at` has it; a symbol is looked for in the run from its start."""
        if location.startswith("@") and location[1:].isdecimal():
            if len(location) > 16:
                raise UsageError(f"{location[:60]}: this run has the steps @0 to @{len(self) - 1}")
            self.piece(int(location[1:]))
            return int(location[1:])
        seen, pcs, near = 0, list[int](), dict[int, int]()
        for run, window in self.pieces():
            pcs, visit = run.located(location)
            found = np.flatnonzero(np.isin(run.trace.pc[window.start : window.stop], np.array(pcs, np.uint64)))
            if seen < visit <= seen + len(found):
                return window.first + int(found[visit - seen - 1])
            seen += len(found)
            near |= executed_near(run.trace, pcs)
        raise UsageError(visited(location, pcs, seen, run.trace, dict(sorted(near.items()))))

    @property
    def failure(self) -> str:
        """Why this run proves nothing about its program, or "": it did not exit, or with the wrong status."""
        return failure_of(self.built, self.end)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """As `Run.disagreements`; all of the run is made again for it, unless nothing is declared."""
        header, path = self.built.source.header, self.built.source.path
        if not header.frames:
            return ()
        pieces = (
            WatchedPart(piece.watched, window.start, window.stop, window.first) for piece, window in self.pieces()
        )
        found = disagreements_in_pieces(pieces, header.frames)
        return tuple(f"{path}:{each.line}: {each.text}" for each in found)


def watch_long(
    built: Built,
    *,
    budget: int,
    chunk: int | None = None,
    judging: Sequence[Unwinder] = (),
    jobs: int = 1,
) -> LongRun:
    """Run a built program in pieces of ``chunk`` steps and watch it. Raises UsageError where signals arrive in it.

    Unwinders that are to be judged soon are judged on the way, see `watch_chunks`; with ``jobs`` 2 by threads.
    """
    if built.source.header.signals:
        raise UsageError(f"{built.program.name}: signals arrive in it, so it is not run in pieces")
    held = HELD if jobs == 1 else HELD_BY_THREADS
    chunks = chunks_of(built.image, budget=budget, chunk=chunk, cpu=built.cpu, held=held)
    return watch_chunks(built, chunks, judging=judging, jobs=jobs)


def watch_chunks(
    built: Built,
    chunks: Chunks,
    progress: Progress = lambda step: None,
    judging: Sequence[Unwinder] = (),
    jobs: int = 1,
) -> LongRun:
    """Watch a run that is in pieces already.

    Unwinders can be judged on the way, by what is known then: `judge_long` looks again at the pieces of which more is
    known at the end. So a run is made once and a bit, and not twice. With ``jobs`` 2 a thread records ahead and another
    one judges; ``chunks`` then hold the columns of HELD_BY_THREADS.
    """
    with side_by_side(jobs) as beside:
        surveyed = _Surveyed(built, judging, beside)
        known = survey(lambda: windows(beside.ahead(chunks(None))), progress, surveyed.see)
        beside.wait()
    return surveyed.run(chunks, known)


class _Surveyed:
    """What is kept of a run that is watched for the first time."""

    def __init__(self, built: Built, judging: Sequence[Unwinder], beside: SideBySide) -> None:
        self._built, self._judging, self._beside = built, judging, beside

    def see(self, truth: WindowTruth, state: WindowState | None) -> None:
        """Keep where a piece begins and ends, and what it says of the unwinders."""
        window = truth.window
        if window.first == 0:  # a pass begins
            self._beside.wait()
            self._ends: dict[int, int] = {}
            self._places: dict[int, _WindowStart] = {}
            self._apart = 1
            self._judged = {unwinder.name: JudgedLong(unwinder) for unwinder in self._judging}
        if len(self._ends) % self._apart == 0:
            self._keep(window, state)
        self._ends[window.first] = window.end
        piece = Run(self._built, truth.trace, truth)
        self._beside.do([partial(count_piece, piece, window, each) for each in self._judged.values()])

    def _keep(self, window: Window, state: WindowState | None) -> None:
        """Of too many places every second is given up."""
        self._places[window.first] = _WindowStart(window.keyframe, window.held, state)
        if len(self._places) > KEPT:
            self._places = dict(list(self._places.items())[::2])
            self._apart *= 2

    def run(self, chunks: Chunks, known: Known) -> LongRun:
        """The run, with the counts that hold; its pieces are found again from places at which the state holds."""
        for first, end in self._ends.items():
            if not known.holds(first, end):
                for judged in self._judged.values():
                    del judged.pieces[first]
        places = {at: place for at, place in self._places.items() if known.holds(at, at + 1)}
        return LongRun(self._built, chunks, known, tuple(self._ends), self._judged, places)


def judge_long(
    run: LongRun, unwinders: Sequence[Unwinder], *, progress: Progress = lambda step: None
) -> tuple[Counts, ...]:
    """The verdicts of unwinders at every step, counted. Pieces that were judged before are not looked at again."""
    judged = [run.judged(unwinder) for unwinder in unwinders]
    missing = {first for each in judged for first in run.firsts if first not in each.pieces}
    for piece, window in run.pieces_at(missing):
        for each in judged:
            if window.first not in each.pieces:
                count_piece(piece, window, each)
        progress(window.end)
    return tuple(sum((each.pieces[first] for first in run.firsts), NOTHING_COUNTED) for each in judged)


def count_piece(piece: Run, window: Window, judged: JudgedLong) -> None:
    """Judge an unwinder on the steps of a piece, and keep the counts."""
    verdicts = judge_piece(piece, window, judged.unwinder)
    if isinstance(verdicts, Verdicts):
        judged.pieces[window.first] = verdicts.counts(window.start, window.stop)
        return
    own = [verdicts[row] for row in range(window.start, window.stop)]
    judged.pieces[window.first] = counted(own)
    judged.said.update((window.first + i, each.said) for i, each in enumerate(own) if each.said is not None)


def judge_piece(piece: Run, window: Window, unwinder: Unwinder) -> Verdicts | dict[int, Verdict]:
    """One unwinder's verdict at every row of a piece that is a step of its own."""
    if unwinder.unwind_trace is not None:
        backtraces = unwinder.unwind_trace(piece.trace)
        return judge_trace(piece.watched, backtraces, unwinder, steps=(window.start, window.stop))
    rows = range(window.start, window.stop)
    return dict(zip(rows, judge_steps(piece, unwinder, rows), strict=True))
