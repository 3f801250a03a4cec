"""Matrices and runs as JSON: the forms of what ``testbed matrix --json`` writes, and a run in columns.

A form says what is written of a value, and its schema is made from it (`testbed.report.json_forms`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from testbed.campaign.cells import Cell, Matrix
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.foreign.read import Foreign
from testbed.image import LoadedImage, image_covering
from testbed.image.symbols import symbol_for
from testbed.naming.symbolize import symbolize
from testbed.report import JSON_VERSION, JsonVersion
from testbed.report.check_json import ConventionForm
from testbed.report.phrases import BESIDE
from testbed.report.step_lines import marks_of
from testbed.report.styles import frames_data, gdb, shown
from testbed.runs.run import COLUMNS_FROM, Run, judge
from testbed.store.codec import Fraction, Keyword, Natural, encoded, taken
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth.phases import phases
from testbed.verdicts.trace import Verdicts, judge_trace
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts, Verdict, first_answers
from testbed.words.errors import UnwindError
from testbed.words.outcome import Outcome

# Backtraces of a foreign snapshot, for people and as data. Nobody watched this stack: nothing is judged.

# What every unwinder said at every step of a run, kept small: chains of frames are shared.
#
# Callers change slowly, so a backtrace is kept as a node of a forest: a frame and, further out, the frame that called
# it. Node ``i`` is ``pc[i]``, ``cfa[i]`` (-1: not claimed) and ``outer[i]``: a node, or ``-1 - e`` where the chain
# ends with ``ends[e]`` ("" is the claim that this is the root).
#
# Words take a thousand times as long as numbers. So of a long run they are made once for all steps of a *kind*: those
# of a function, in the same phase, at which every unwinder comes to the same verdict. The first of them speaks for
# all.


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


CountsForm = TypedDict(
    "CountsForm",
    {
        "sites": Natural,
        "exact": Natural,
        "foretold": Natural,
        "luck": Annotated[Natural, BESIDE["luck"]],
        "open": Annotated[Natural, BESIDE["open"]],
        "unexplained": Annotated[Natural, BESIDE["unexplained"]],
        "lying": Natural,
        "transition": Natural,
        "undecided": Annotated[Natural, BESIDE["undecided"]],
    },
)
CallersForm = TypedDict(
    "CallersForm",
    {
        "said": Natural,
        "true": Natural,
        "found": Natural,
        "precision": Annotated[Fraction | None, "found / said; null where nothing was said"],
        "recall": Annotated[Fraction | None, "found / true; null where there is nothing to find"],
    },
)
DifferenceForm = TypedDict(
    "DifferenceForm",
    {
        "step": int,
        "where": str,
        "outcome": Outcome,
        "clause": Annotated[str | None, "the clause of the assumption that fails; null where it is unexplained"],
        "reason": Annotated[str, taken("because")],
        "sentence": str,
    },
)
CellForm = TypedDict(
    "CellForm",
    {
        "program": Annotated[str, taken("unit.program")],
        "arch": Annotated[str, taken("unit.arch")],
        "recipe": Annotated[str, taken("unit.recipe")],
        "unwinder": str,
        "sites": Natural,
        "exact": Natural,
        "foretold": Natural,
        "luck": Annotated[Natural, BESIDE["luck"]],
        "open": Annotated[Natural, BESIDE["open"]],
        "unexplained": Annotated[Natural, BESIDE["unexplained"]],
        "lying": Natural,
        "transition": Natural,
        "undecided": Annotated[Natural, BESIDE["undecided"]],
        "callers": Annotated[CallersForm, "callers at all sites outside transitions"],
        "outcomes": Mapping[Outcome, Annotated[int, Keyword("minimum", 1)]],
        "first_difference": Annotated[DifferenceForm | None, taken("first")],
        "first_unexplained": DifferenceForm | None,
    },
)
ToolForm = TypedDict("ToolForm", {"version": str, "arch": str, "recipes": tuple[str, ...]})
NotJudgedForm = TypedDict("NotJudgedForm", {"unit": str, "reason": str})
UnwinderForm = TypedDict("UnwinderForm", {"unwinder": str, "arch": str, "callers": CallersForm})


COUNTS = tuple(CountsForm.__annotations__)


def counts(found: Counts) -> dict[str, int]:
    """Counts under the names that every report uses."""
    return encoded(CountsForm, found)  # type: ignore[no-any-return]


def _tools(matrix: Matrix) -> Iterable[Mapping[str, Any]]:
    """Every version of a compiler, an assembler or a linker that built a unit, and the recipes it did that for."""
    found: dict[tuple[str, str], set[str]] = {}
    for result in matrix.results:
        if result.tools:
            found.setdefault((result.tools, result.unit.arch), set()).add(result.unit.recipe)
    return [{"version": key[0], "arch": key[1], "recipes": sorted(names)} for key, names in sorted(found.items())]


def _unwinders(matrix: Matrix) -> Iterable[Mapping[str, Any]]:
    for (name, arch), cells in matrix.by_unwinder().items():
        yield {"unwinder": name, "arch": arch, "callers": sum(cells, NOTHING_COUNTED).callers}


def _not_judged(why: str, matrix: Matrix) -> Iterable[Mapping[str, str]]:
    reasons = ((result.unit, getattr(result, why)) for result in matrix.results)
    return [{"unit": str(unit), "reason": reason} for unit, reason in reasons if reason]


MatrixForm = TypedDict(
    "MatrixForm",
    {
        "schema": JsonVersion,
        "complete": Annotated[bool, "false: interrupted, the rest was not judged"],
        "units": Annotated[Natural, taken("planned"), "(program, arch, recipe) triples that were planned"],
        "tools": Annotated[
            tuple[ToolForm, ...],
            taken(_tools),
            "what built the units: compilers, assemblers and linkers, as they name their versions",
        ],
        "cells": tuple[CellForm, ...],
        "skipped": Annotated[tuple[NotJudgedForm, ...], taken(partial(_not_judged, "skipped"))],
        "failed": Annotated[tuple[NotJudgedForm, ...], taken(partial(_not_judged, "failed"))],
        "totals": Annotated[CountsForm, taken(lambda matrix: sum(matrix.cells, NOTHING_COUNTED))],
        "unwinders": Annotated[
            tuple[UnwinderForm, ...], taken(_unwinders), "per unwinder and architecture, in catalogue order"
        ],
    },
)


# A run as plain data, the shape of ``testbed run --json``: tables of what occurs, and columns of indexes per step.
#
# What is true at step ``k`` (``schema/run.json`` has every field)::
#
#     here = data["instructions"][data["steps"]["instruction"][k]]
#     activation = data["activations"][data["steps"]["activation"][k]]     # frame 0: here["pc"], activation["cfa"]
#     while activation["outer"] is not None:                                # its callers, innermost first
#         pc, function = activation["return_address"], activation["caller"]
#         activation = data["activations"][activation["outer"]]
#     data["verdicts"][data["steps"]["verdicts"]["eh_frame"][k]]["outcome"]

RUN_SCHEMA = 3  # raised when a reader of the old shape would be misled


class _Distinct:
    """A table under construction: equal rows are one, and each is made once."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.rows: list[Any] = []

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.rows)
            self.rows.append(make())
        return self.numbers[key]


def run_data(run: Run, judged: Sequence[tuple[Cell, Sequence[Verdict]]]) -> dict[str, Any]:
    """A run: every step with its truth and every unwinder's verdict, and a summary per unwinder."""
    instructions, words, verdicts = _Distinct(), _Distinct(), _Distinct()
    code, held = [], []
    for step, pc in enumerate(run.trace.pc.tolist()):
        text, said = run.instruction(step), run.words(step)
        code.append(instructions.number((pc, text), partial(_instruction, run, pc, text)))
        held.append(words.number(said, partial(sorted, [word.name for word in said])))
    by_unwinder = {cell.unwinder: [_verdict(run, verdicts, *each) for each in enumerate(said)] for cell, said in judged}
    return {
        "schema": RUN_SCHEMA,
        "program": run.program.name,
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "seed": run.trace.seed,
        "ending": run.ending,
        "instructions": instructions.rows,
        "activations": [_activation(run, index) for index in range(len(run.watched.activations))],
        "words": words.rows,
        "verdicts": verdicts.rows,
        "steps": {
            "instruction": code,
            "activation": run.watched.node.tolist(),
            "words": held,
            "verdicts": by_unwinder,
        },
        "undecided": np.flatnonzero(run.watched.undecided).tolist(),
        **({"conventions": encoded(tuple[ConventionForm, ...], run.conventions)} if run.conventions else {}),
        "summary": {
            cell.unwinder: counts(cell) | {"callers": encoded(CallersForm, cell.callers)} for cell, _ in judged
        },
    }


def _instruction(run: Run, pc: int, text: str) -> dict[str, Any]:
    loaded = image_covering(run.trace.images, pc)
    symbol = symbol_for(loaded.image, pc - loaded.bias) if loaded else None
    offset = pc - loaded.bias - symbol.address if loaded and symbol else None
    return {"pc": pc, "symbol": symbol.name if symbol else None, "offset": offset, "text": text}


def _activation(run: Run, index: int) -> dict[str, Any]:
    activation = run.watched.activations[index]
    frames = run.truth(activation.opened).frames
    name = run.frame_names(frames[1:2])[0] if len(frames) > 1 else None
    return {
        "cfa": activation.cfa,
        "return_address": activation.return_address,
        "caller": name,
        "outer": activation.parent,
    }


def _verdict(run: Run, rows: _Distinct, step: int, verdict: Verdict) -> int:
    key = (verdict.outcome, verdict.accord.name.lower(), verdict.clause, run.why(verdict, step), verdict.depth)
    names = ("outcome", "accord", "clause", "reason", "depth", "detail")
    told = (verdict.outcome.value, *key[1:], verdict.difference)
    return rows.number((*key, verdict.difference), lambda: dict(zip(names, told, strict=True)))
