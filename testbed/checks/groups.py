"""The unit of work of a check: some neighbouring functions of a file, called, watched and compared.

What a group finds depends on the file, the options and the group alone, so it may be done in any process, in any order,
and twice: the sum is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.checks.called_pieces import judged_parts, pieces_for, with_names
from testbed.checks.impossible import (
    dynamic_frame_steps,
    in_parts,
    of_another_frame,
    on_answers,
    seconded,
    unproven_steps,
    within,
    without,
    without_contracts,
    without_impossible,
    without_moved,
    without_overwritten_frame,
    without_thrown_away,
)
from testbed.checks.inputs import read_program
from testbed.checks.local_calls import LocalCalls, local_calls, rows_beside
from testbed.checks.model import FunctionCheck
from testbed.checks.native.rows import check_steps
from testbed.checks.options import CheckOptions
from testbed.checks.pc_checks import ResultsByPc, by_pc
from testbed.checks.readers import Readers
from testbed.checks.row_checks import RowChecks, has_one_answer
from testbed.checks.static_rows import changed_at_all, read_statically
from testbed.checks.table_findings import wrong_pcs
from testbed.checks.true_rows import ObservedRow, true_rows
from testbed.contract.rows import RowTable
from testbed.conventions.chosen import check_said
from testbed.image import Image, LoadedImage
from testbed.image.separate_debug import NOWHERE, looked_in
from testbed.micro.batches import BATCH, Batch, one_trace
from testbed.micro.calling import Caller
from testbed.micro.code import PieceCode
from testbed.micro.exploring import Explorer, TakenPath
from testbed.micro.function_parts import parts_of_file
from testbed.micro.functions import CodePiece
from testbed.micro.layout import make_callable
from testbed.micro.plans import PLANS, ArgumentPlan, users_plans
from testbed.native.compiled import pays
from testbed.truth import Truth, observe
from testbed.words.errors import UnwindError
from testbed.words.table_formats import AT_CALLS

GROUP_BYTES = 4096  # code of one group: enough for a batch of steps, little enough to be one of many


@dataclass(frozen=True, slots=True)
class Group:
    """The functions ``[first, end)`` of a file's pieces. ``file`` is what is loaded, ``path`` its user's name.

    ``executes``: only what is executed counts, so more is tried for it, and nothing is read statically; above all
    the ``ways``, (from, to), are taken where that can be.
    """

    file: Path
    path: Path
    first: int
    end: int
    options: CheckOptions
    readers: Readers
    executes: bool = False
    ways: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class PieceCounts:
    """One function's runs, and its instructions as they were decoded, those that were passed over apart; ``note``: why
    it was not tried.
    """

    piece: CodePiece
    instructions: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    calls: int
    returned: int
    note: str = ""
    failed: bool = False  # by a mistake of the testbed's, which ``note`` tells
    lacked: frozenset[int] = frozenset()  # `Exploration.lacked`
    to_answers: frozenset[int] = frozenset()  # `Exploration.to_answers`


class RightWays(NamedTuple):
    """The ways to instructions at which all that a row says is right, each once: where from in the same activation.

    Pairs of addresses, (before, here); behind a call comes what the call was. Those of ``forced`` paths are apart.
    """

    natural: NDArray[np.uint64]
    forced: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class TableChecks:
    """What was found of one table on natural and on forced paths, and what is true where something is wrong."""

    natural: tuple[ResultsByPc, ...]
    forced: tuple[ResultsByPc, ...]
    true: tuple[Mapping[int, ObservedRow], ...]
    left_out: tuple[NDArray[np.uint64], ...] = ()  # where some visit was: `testbed.checks.impossible`
    right: tuple[RightWays, ...] = ()
    astray: tuple[NDArray[np.uint64], ...] = ()  # wrong on a forced path: (instruction, the branch that was turned; 0)
    changed: tuple[NDArray[np.uint64], ...] = ()  # `changed_at_all`


@dataclass(frozen=True, eq=False)
class GroupResult:
    """What was found of a group, or of one batch of its paths.

    ``natural`` and ``on_forced`` are the instructions executed on such paths, of this file, in order.
    """

    pieces: tuple[PieceCounts, ...] = field(repr=False)
    tables: Mapping[str, TableChecks] = field(repr=False)
    natural: NDArray[np.uint64] = field(repr=False)
    on_forced: NDArray[np.uint64] = field(repr=False)
    dropped: Mapping[str, int]
    runs: int
    steps: int


@dataclass(frozen=True, eq=False)
class FileAtWork:
    """A file made ready once per process: its pieces, its tables, a machine with it. ``parts``: jumped to."""

    image: Image
    loaded: LoadedImage
    pieces: tuple[CodePiece, ...]
    parts: tuple[CodePiece, ...]
    tables: Mapping[str, RowTable | UnwindError]
    plans: tuple[ArgumentPlan, ...]
    caller: Caller
    explorer: Explorer


def groups_of(pieces: Sequence[CodePiece]) -> Iterator[tuple[int, int]]:
    """The pieces cut into groups of some `GROUP_BYTES`: (first, end)."""
    first = size = 0
    for k, piece in enumerate(pieces):
        size += piece.end - piece.start
        if size >= GROUP_BYTES:
            yield first, k + 1
            first, size = k + 1, 0
    if first < len(pieces):
        yield first, len(pieces)


@lru_cache(maxsize=2)
def opened(file: Path, path: Path, options: CheckOptions, readers: Readers) -> FileAtWork:
    """A file made ready to be checked: its image, tables and machine. Raises ImageError, UsageError."""
    debug = looked_in() if options.debug_files else NOWHERE
    image = replace(read_program(file, path, options.arch, debug), conventions=options.conventions)
    check_said(image.arch, options.conventions)
    tables = readers.tables(image, options.tables)
    pieces = pieces_for(image, tables, options.functions)
    image = with_names(image, pieces)
    plans, data = users_plans(options.calls, image.arch)
    callable_image = make_callable(image, data)
    caller, parts = Caller(callable_image, options.seed), judged_parts(parts_of_file(image, pieces), tables, image.arch)
    explorer = Explorer(caller, pieces, parts)
    return FileAtWork(image, callable_image.loaded, pieces, parts, tables, plans, caller, explorer)


def check_group(group: Group) -> GroupResult:
    """Call the functions of a group and hold every table against what was watched."""
    this = opened(group.file, group.path, replace(group.options, jobs=1), group.readers)
    counts: list[PieceCounts] = []
    batches: list[GroupResult] = []
    taken: list[TakenPath] = []
    waiting = 0
    dropped: Counter[str] = Counter()
    thorough = group.executes or this.tables.keys() <= AT_CALLS  # else what nothing executed is read statically
    for piece in this.pieces[group.first : group.end]:
        if not piece.is_entry or not fits(piece, group.options.functions):
            continue
        plans = (*(plan for plan in this.plans if any(map(plan.fits, (str(piece), *piece.names)))), *PLANS)
        found, paths = this.explorer.explore(
            piece, plans, runs=group.options.runs, steps=group.options.steps, thorough=thorough, ways=group.ways
        )
        for path in paths:
            taken.append(path)
            waiting += len(path.tape)
            if waiting > BATCH:
                batches.append(_compared(this, group, taken))
                waiting = 0
        its = replace(counts_of(piece, found.code), calls=found.calls, returned=found.returned)
        counts.append(replace(its, lacked=frozenset(found.lacked), to_answers=frozenset(found.to_answers)))
        dropped += found.dropped
    if taken:
        batches.append(_compared(this, group, taken))
    return joined([without_runs(this, counts, dropped, sum(each.calls for each in counts)), *batches])


def without_runs(
    this: FileAtWork, counts: Sequence[PieceCounts], dropped: Mapping[str, int] | None = None, runs: int = 0
) -> GroupResult:
    """Functions of which nothing was compared."""
    nothing = np.empty(0, np.uint64)
    tables = {name: TableChecks((), (), ()) for name, table in this.tables.items() if isinstance(table, RowTable)}
    return GroupResult(tuple(counts), tables, nothing, nothing, dropped or {}, runs, 0)


def joined(parts: Sequence[GroupResult]) -> GroupResult:
    """The results of neighbouring groups, or of a group's batches, as one."""
    tables = {
        name: TableChecks(
            tuple(each for part in parts for each in part.tables[name].natural),
            tuple(each for part in parts for each in part.tables[name].forced),
            tuple(each for part in parts for each in part.tables[name].true),
            tuple(each for part in parts for each in part.tables[name].left_out),
            tuple(each for part in parts for each in part.tables[name].right),
            tuple(each for part in parts for each in part.tables[name].astray),
            tuple(each for part in parts for each in part.tables[name].changed),
        )
        for name in parts[0].tables
    }
    return GroupResult(
        tuple(counts for part in parts for counts in part.pieces),
        tables,
        np.unique(np.concatenate([part.natural for part in parts])),
        np.unique(np.concatenate([part.on_forced for part in parts])),
        dict(sum((Counter(part.dropped) for part in parts), Counter[str]())),
        sum(part.runs for part in parts),
        sum(part.steps for part in parts),
    )


def fits(piece: CodePiece, patterns: Sequence[str]) -> bool:
    """Is this one of the functions that were asked for, by a name or its address?"""
    names = {f"{piece.start:#x}", str(piece), *piece.names}
    if not patterns or not names.isdisjoint(patterns):
        return True
    globs = [pattern for pattern in patterns if any(each in pattern for each in "*?[")]
    return any(fnmatchcase(name, pattern) for name in names for pattern in globs)


def counts_of(piece: CodePiece, code: PieceCode) -> PieceCounts:
    """A piece's instructions, without any run."""
    sizes = sorted(code.sizes.items())
    pcs = np.array([pc for pc, _ in sizes], np.uint64)
    return PieceCounts(piece, pcs, np.array([size for _, size in sizes], np.int64), 0, 0)


def function_checks(
    counted: Sequence[PieceCounts],
    natural: NDArray[np.uint64],
    on_forced: NDArray[np.uint64],
    were_read: NDArray[np.uint64],
    rowless: Sequence[NDArray[np.uint64]],
) -> tuple[FunctionCheck, ...]:
    """How much of each function was executed, and how much of it no table knows."""
    silent = rowless[0] if rowless else np.empty(0, np.uint64)
    for other in rowless[1:]:
        silent = np.intersect1d(silent, other)
    found = []
    for counts in counted:
        own = counts.instructions
        by_itself, on_path = _in(own, natural), _in(own, on_forced)
        tried = _in(own, were_read)
        found.append(
            FunctionCheck(
                str(counts.piece),
                counts.piece.start,
                counts.piece.end,
                len(own),
                int(by_itself.sum()),
                int((on_path & ~by_itself).sum()),
                int((tried & ~by_itself & ~on_path).sum()),
                int(_in(own, silent).sum()),
                counts.calls,
                counts.returned,
                counts.note,
                sum(pc in counts.lacked for pc in own[by_itself | on_path].tolist()),
            )
        )
    return tuple(found)


def _in(values: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are among others, which are in order."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[place] == values)


def is_long(this: FileAtWork) -> bool:
    """True once so much of a file was executed that the kernels which judge it are worth being loaded, or compiled."""
    return pays(check_steps, this.caller.recorded)


def _compared(this: FileAtWork, group: Group, taken: list[TakenPath]) -> GroupResult:
    """Watch a batch and compare it; ``taken`` is empty afterwards."""
    batch = one_trace(this.caller.image, taken, this.caller.forget_asked(), group.options.seed)
    steps = sum(len(path.tape) for path in taken)
    taken.clear()
    watched = observe(batch.trace, natively=is_long(this))
    local = local_calls(watched, batch.returned)
    called = watched if local is None else local.truth
    pc = batch.trace.pc - np.uint64(this.loaded.bias % (1 << 64))
    parts = in_parts(this.pieces, this.parts, called, pc)
    own = parts | within([piece for piece in this.pieces if piece.is_entry], pc)  # of other code nothing is told
    sized, raised = dynamic_frame_steps(called, this.loaded, pc, batch)
    tables: dict[str, TableChecks] = {}
    for name, table in this.tables.items():
        if not isinstance(table, RowTable):
            continue
        dynamic = sized, raised
        checks, left_out, astray = held_against(this, group.readers, name, table, batch, (watched, local), dynamic)
        checks = _only(checks, own)
        true = true_rows(called, checks, table, wrong_pcs(by_pc(checks), this.image), sized)
        natural, forced = (by_pc(_only(checks, steps)) for steps in (~batch.forced, batch.forced))
        right = checks.compared & (checks.wrong == 0) & ~checks.untried
        ways = RightWays(*(_ways(called, pc, right & steps) for steps in (~batch.forced, batch.forced)))
        pairs = (_turned(batch, pc, np.flatnonzero(astray & own)),)
        reading = read_statically(this.image, name, table)
        changed = () if reading is None else (changed_at_all(reading, called, pc, right),)
        out = (np.unique(pc[left_out & own]),)
        tables[name] = TableChecks((natural,), (forced,), (true,), out, (ways,), pairs, changed)
    decided = own & has_one_answer(called)  # elsewhere nothing was compared
    on_natural, on_forced = (np.unique(pc[decided & steps]) for steps in (~batch.forced, batch.forced))
    return GroupResult((), tables, on_natural, on_forced, {}, 0, steps)


def _turned(batch: Batch, pc: NDArray[np.uint64], steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The instructions of some steps with the branch of the path that was turned last before (0: none), each once."""
    turned = batch.turned_before(steps)
    branches = np.where(turned >= 0, pc[turned], np.uint64(0))
    return np.unique(np.stack([pc[steps], branches], axis=1), axis=0)


def _ways(called: Truth, pc: NDArray[np.uint64], asked: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """How control came to some steps: (where from in the same activation, where), each once."""
    order = np.argsort(called.node, kind="stable")
    later, earlier = order[1:], order[:-1]
    kept = (called.node[later] == called.node[earlier]) & asked[later]
    return np.unique(np.stack([pc[earlier[kept]], pc[later[kept]]], axis=1), axis=0)


def held_against(
    this: FileAtWork,
    readers: Readers,
    name: str,
    table: RowTable,
    batch: Batch,
    truth: tuple[Truth, LocalCalls | None],
    dynamic: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> tuple[RowChecks, NDArray[np.bool_], NDArray[np.bool_]]:
    """A table compared with a batch of paths, without visits that no real run makes and steps that prove nothing.

    And which steps were left out for that, and which are wrong on forced paths, though perhaps no run takes these.
    ``truth``: and local calls; ``dynamic``: as `dynamic_frame_steps` has them.
    """
    sized, raised = dynamic
    watched, local = truth
    called = watched if local is None else local.truth
    evaluate = readers.evaluator
    at_calls = name in AT_CALLS
    every = rows_beside(
        watched, local, table, this.loaded, at_calls=at_calls, evaluate=evaluate, natively=is_long(this)
    )
    every = without_contracts(every, batch, called, this.image)
    proving = without(every, np.flatnonzero(raised | (every.untried & (every.wrong == 0))))  # not all that the row says
    proving = without(proving, unproven_steps(called, proving, table, sized, at_calls=at_calls))
    proving = without(proving, on_answers(proving, batch, called, table))
    proving = without(proving, of_another_frame(proving, table))
    checks = without_moved(without_thrown_away(proving, called), called, table)
    checks = without_overwritten_frame(checks, batch, called, table, evaluate)
    astray = checks.compared & (checks.wrong != 0) & batch.forced
    checks = without_impossible(checks, batch)
    checks = seconded(checks, batch, read_statically(this.image, name, table))
    return checks, every.compared & ~checks.compared, astray


def _only(checks: RowChecks, steps: NDArray[np.bool_]) -> RowChecks:
    """The checks of some steps."""
    return replace(checks, compared=checks.compared & steps)
