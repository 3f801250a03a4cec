"""What every unwinder said at every step of a run, kept small: chains of frames are shared.

Callers change slowly, so a backtrace is kept as a node of a forest: a frame and, further out, the frame that called
it. Node ``i`` is ``pc[i]``, ``cfa[i]`` (-1: not claimed) and ``outer[i]``: a node, or ``-1 - e`` where the chain ends
with ``ends[e]`` ("" is the claim that this is the root).

Words take a thousand times as long as numbers. So of a long run they are made once for all steps of a *kind*: those of
a function, in the same phase, at which every unwinder comes to the same verdict. The first of them speaks for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.foreign.read import Foreign
from testbed.image import LoadedImage
from testbed.naming.symbolize import symbolize
from testbed.report import JSON_VERSION
from testbed.report.step_lines import marks_of
from testbed.report.styles import frames_data, gdb, shown
from testbed.runs.run import COLUMNS_FROM, Run, judge
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth.phases import phases
from testbed.verdicts.trace import Verdicts, judge_trace
from testbed.verdicts.verdict import Verdict, first_answers
from testbed.words.errors import UnwindError

# Backtraces of a foreign snapshot, for people and as data. Nobody watched this stack: nothing is judged.

NOTE = "nobody watched this stack: these are claims, not judged"


def foreign_text(of: Foreign, said: Mapping[str, Backtrace]) -> Iterator[str]:
    """The dump, then every unwinder's backtrace as gdb prints one; unwinders that say the same stand together."""
    yield f"{of.dump.path}: {of.dump.kind}, {of.dump.arch}, {of.snapshot}"
    if of.dump.threads > 1:
        yield f"one of {of.dump.threads} threads (--thread)"
    for loaded in of.snapshot.images:
        start = min((segment.address for segment in loaded.image.segments), default=0) + loaded.bias
        yield f"  {loaded.image.path} at {start:#x}"
        if loaded.image.debug_file is not None:
            yield f"    debug information from {loaded.image.debug_file}"
        yield from (f"    {note}" for note in loaded.image.notes)
    for name in of.left_out:
        yield f"  {name}: left out, its file was not found"
    yield NOTE
    for names, backtrace in _grouped(said):
        yield ""
        yield f"{', '.join(names)}:"
        one = shown(of.snapshot, backtrace, symbolize(of.snapshot.images, backtrace))
        yield from (f"  {line}" for line in gdb(one))
        if backtrace.stopped is None:
            yield "  (says that this is the outermost frame)"


def foreign_data(of: Foreign, said: Mapping[str, Backtrace]) -> dict[str, Any]:
    """The same as values of JSON: ``schema/backtrace.json``."""
    return {
        "schema": JSON_VERSION,
        "file": str(of.dump.path),
        "kind": of.dump.kind,
        "arch": of.dump.arch.name,
        "threads": of.dump.threads,
        "judged": False,
        "images": [_image(loaded) for loaded in of.snapshot.images],
        "left_out": list(of.left_out),
        "backtraces": {
            name: {
                **frames_data(shown(of.snapshot, backtrace, symbolize(of.snapshot.images, backtrace))),
                "root_claimed": backtrace.stopped is None,
            }
            for name, backtrace in said.items()
        },
    }


def _image(loaded: LoadedImage) -> dict[str, Any]:
    image = loaded.image
    said: dict[str, Any] = {"path": str(image.path), "bias": hex(loaded.bias)}
    if image.debug_file is not None:
        said["debug_file"] = str(image.debug_file)
    return {**said, "notes": list(image.notes)} if image.notes else said


def _grouped(said: Mapping[str, Backtrace]) -> list[tuple[list[str], Backtrace]]:
    groups: dict[tuple[object, ...], tuple[list[str], Backtrace]] = {}
    for name, backtrace in said.items():
        stopped = backtrace.stopped and (backtrace.stopped.reason, str(backtrace.stopped))
        key = (*((frame.pc, frame.kind) for frame in backtrace.frames), stopped)
        groups.setdefault(key, ([], backtrace))[0].append(name)
    return list(groups.values())


NOTHING = -(1 << 31)  # the chain of a backtrace without any frame


@dataclass(frozen=True, eq=False)
class StepAnswers:
    """One unwinder at every step: the verdict, its callers as a node of the forest, its CFA of the innermost frame."""

    unwinder: Unwinder
    verdicts: Sequence[Verdict] = field(repr=False)
    callers: NDArray[np.int32] = field(repr=False)
    cfa: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """All unwinders, and the forest that their ``callers`` point into.

    ``speaker[step]`` is the step whose words stand for it: the first of its kind, or of a short run itself.
    """

    speaker: NDArray[np.int64] = field(repr=False)
    each: tuple[StepAnswers, ...]
    pc: NDArray[np.float64] = field(repr=False)
    cfa: NDArray[np.float64] = field(repr=False)
    outer: NDArray[np.int32] = field(repr=False)
    ends: tuple[str, ...]

    def chain(self, node: int) -> tuple[tuple[int, ...], str]:
        """The pcs from a node outwards, and how they end."""
        pcs = []
        while node >= 0:
            pcs.append(int(self.pc[node]))
            node = int(self.outer[node])
        return tuple(pcs), self.ends[-1 - node] if node != NOTHING else ""


class _Forest:
    """Nodes by what they are, so that equal chains are one."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int, int], int] = {}
        self.ends: dict[str, int] = {"": 0}

    def end(self, stopped: UnwindError | None) -> int:
        """What stands for the caller of the last frame of a chain that ends so."""
        return -1 - self.ends.setdefault("" if stopped is None else f"{stopped.reason}: {stopped}", len(self.ends))

    def add(self, said: Backtrace) -> int:
        if not said.frames:
            return NOTHING
        node = self.end(said.stopped)
        for frame in reversed(said.frames[1:]):
            key = (frame.pc, -1 if frame.cfa is None else frame.cfa, node)
            node = self.nodes.setdefault(key, len(self.nodes))
        return node


def answers_of(run: Run, unwinders: Sequence[Unwinder], *, natively: bool | None = None) -> Answers:
    """Ask every unwinder at every step, and judge what it says.

    ``natively`` decides whether unwinders that can walk a whole trace at once do so, as in ``judge_all``.
    """
    if natively is None:
        natively = len(run) >= COLUMNS_FROM
    forest = _Forest()
    judged: list[StepAnswers | Verdicts] = [
        judge_trace(run.watched, unwinder.unwind_trace(run.trace), unwinder)
        if natively and unwinder.unwind_trace is not None
        else _readably(run, unwinder, forest)
        for unwinder in unwinders
    ]
    speaker = _speakers(run, [each.verdicts if isinstance(each, StepAnswers) else each for each in judged])
    each = [said if isinstance(said, StepAnswers) else _natively(said, speaker, forest) for said in judged]
    nodes = np.array(list(forest.nodes), np.float64).reshape(-1, 3)
    return Answers(speaker, tuple(each), nodes[:, 0], nodes[:, 1], nodes[:, 2].astype(np.int32), tuple(forest.ends))


def _readably(run: Run, unwinder: Unwinder, forest: _Forest) -> StepAnswers:
    """One snapshot after the other."""
    callers, cfas = np.empty(len(run), np.int32), np.full(len(run), -1.0)

    def judged() -> Iterator[tuple[Verdict, Backtrace]]:
        for step in range(len(run)):
            said = unwinder.unwind(run.trace.snapshot(step))
            callers[step], cfas[step] = forest.add(said), _cfa(said)
            yield judge(run, step, said, unwinder), said

    return StepAnswers(unwinder, tuple(first_answers(judged())), callers, cfas)


def _natively(judged: Verdicts, speaker: NDArray[np.int64], forest: _Forest) -> StepAnswers:
    """From columns: each chain of callers is made once for each step that speaks for others."""
    said = judged.backtraces
    first, place = distinct_rows(np.stack((said.sites.outer[said.site].astype(np.int64), speaker), axis=1))
    pcs, outer = said.nodes.pc.tolist(), said.nodes.outer.tolist()
    cfas = np.where(said.nodes.cfa_known, said.nodes.cfa.astype(np.float64), -1.0).tolist()
    ends: dict[int, int] = {}
    known: dict[tuple[int, int], int] = {}  # a frame whose chain ends so, as a node of the forest

    def chain(at: int, end: int) -> int:
        further = []
        while at >= 0 and (at, end) not in known:
            further.append(at)
            at = outer[at]
        node = known.get((at, end), end)
        for each in reversed(further):
            node = known[each, end] = forest.nodes.setdefault((pcs[each], cfas[each], node), len(forest.nodes))
        return node

    callers = []
    for step in first.tolist():
        heard, depth = int(speaker[step]), said.depth(step)
        if depth is None or depth == said.most_frames:  # made by itself, or cut
            callers.append(forest.add(said[step]))
            continue
        if heard not in ends:
            ends[heard] = forest.end(said[heard].stopped)
        callers.append(chain(int(said.sites.outer[said.site[step]]), ends[heard]))
    cfa = np.where(said.sites.cfa_known, said.sites.cfa.astype(np.float64), -1.0)[said.site]
    return StepAnswers(judged.unwinder, judged, np.array(callers, np.int32)[place], cfa)


TOLD_EACH = 2_000  # steps: of a run that is not longer each step has words of its own


def _speakers(run: Run, judged: Sequence[Sequence[Verdict]]) -> NDArray[np.int64]:
    """For each step the first of its kind; what was left to a readable evaluator is a kind by itself."""
    if len(run) <= TOLD_EACH:
        return np.arange(len(run))
    watched = run.watched
    columns: list[NDArray[Any]] = [
        run.trace.pc[watched.activations.opened][watched.node],
        phases(watched),
        watched.undecided,
    ]
    alone = np.zeros(len(run), np.bool_)
    for verdicts in judged:
        clause, frame = faults(verdicts)
        columns += [marks_of(verdicts), clause, np.minimum(frame, 1)]
        if isinstance(verdicts, Verdicts):
            columns.append(verdicts.backtraces.claims_root)
            alone[verdicts.backtraces.slow_steps] = True
    columns.append(np.where(alone, 1 + np.arange(len(run)), 0))
    first, place = distinct_rows(np.stack([column.astype(np.uint64) for column in columns], axis=1))
    return first[place]


def faults(verdicts: Sequence[Verdict]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By step the clause that fails, as a number that is 0 where none does, and the frame at which it goes wrong."""
    if isinstance(verdicts, Verdicts):
        return verdicts.clause.astype(np.int64), verdicts.frame[:, 0].astype(np.int64)
    names = {"": 0}
    clauses = [names.setdefault(verdict.clause, len(names)) for verdict in verdicts]
    return np.array(clauses, np.int64), np.array([verdict.frame for verdict in verdicts], np.int64)


def _cfa(said: Backtrace) -> float:
    """The claimed CFA of the innermost frame; -1 where there is none."""
    return -1.0 if not said.frames or said.frames[0].cfa is None else float(said.frames[0].cfa)
