"""`testbed check`: every function of a file called, every row of its tables held against what was watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.checks.groups import (
    Group,
    GroupResult,
    PieceCounts,
    TableChecks,
    check_group,
    died,
    fits,
    groups_of,
    opened,
)
from testbed.checks.inputs import program_file
from testbed.checks.model import FileCheck, FindingKind, FunctionCheck, HowKnown, TableFinding, WrongThing
from testbed.checks.native.codes import NO_ROW
from testbed.checks.options import CheckOptions
from testbed.checks.pc_checks import PcChecks, summed
from testbed.checks.readers import AT_CALLS, OF_DIRECTIVES, Readers
from testbed.checks.table_findings import CodeWords, table_findings
from testbed.checks.true_rows import TrueRow, merged
from testbed.contract.rows import RowTable
from testbed.image import Image
from testbed.image.debug import debug_info
from testbed.image.disassembly import disassemble
from testbed.words.errors import NothingAskedFor, UnwindError, UsageError

Counted = Callable[[int, int], None]


def check_file(
    path: Path,
    options: CheckOptions,
    readers: Readers,
    *,
    executor: Executor | None = None,
    progress: Counted | None = None,
) -> FileCheck:
    """Check one file of any kind: source, object, archive, shared object, program.

    Groups of functions are checked in ``options.jobs`` processes, or by ``executor``. Raises BuildError,
    ToolchainMissing, ImageError, and UsageError for a file without tables, or without a function that was asked for.
    """
    with program_file(path, options.arch, options.flags) as file:
        this = opened(file, path, replace(options, jobs=1), readers)
        chosen = [piece for piece in this.pieces if piece.is_entry and fits(piece, options.functions)]
        if not chosen:
            if options.functions:
                raise NothingAskedFor(f"{path}: it has no function that matches {' or '.join(options.functions)}")
            raise UsageError(f"{path}: it has no function that is known")
        starts = {piece.start for piece in chosen}
        planned = [
            Group(file, path, first, end, options, readers)
            for first, end in groups_of(this.pieces)
            if any(piece.start in starts for piece in this.pieces[first:end])
        ]
        results = _done(planned, options.jobs, executor, progress)
        return _file_check(path, this.image, this.tables, results, options)


def _done(
    planned: Sequence[Group], jobs: int, executor: Executor | None, progress: Counted | None
) -> list[GroupResult]:
    """The results of all groups, in order. A function over which the emulator dies costs its own result only."""
    found: dict[int, list[GroupResult]] = {}

    def took(number: int, results: list[GroupResult]) -> None:
        found[number] = results
        if progress is not None:
            progress(len(found), len(planned))

    with nullcontext(executor) if executor is not None else ProcessPoolExecutor(max(1, jobs)) as pool:
        futures = {pool.submit(check_group, group): number for number, group in enumerate(planned)}
        try:
            for future in as_completed(futures):
                with suppress(BrokenExecutor):
                    took(futures[future], [future.result()])
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    for number, group in enumerate(planned):
        if number not in found:
            took(number, _alone(group))
    return [result for number in range(len(planned)) for result in found[number]]


def _alone(group: Group) -> list[GroupResult]:
    """A group in a process of its own; if that dies, each of its functions in one."""
    with ProcessPoolExecutor(1) as pool:
        try:
            return [pool.submit(check_group, group).result()]
        except BrokenExecutor:
            if group.end - group.first == 1:
                return [died(group)]
    halves = (group.first, (group.first + group.end) // 2, group.end)
    return [result for first, end in pairwise(halves) for result in _alone(replace(group, first=first, end=end))]


@dataclass(frozen=True, eq=False)
class _OneTable:
    """All that was found of one table, over all groups."""

    table: RowTable
    every: PcChecks
    natural: PcChecks
    true: Mapping[int, TrueRow]

    @classmethod
    def of(cls, table: RowTable, parts: Sequence[TableChecks]) -> _OneTable:
        natural = summed(part for checks in parts for part in checks.natural)
        forced = summed(part for checks in parts for part in checks.forced)
        forced = _possible(forced, natural)
        true = merged(part for checks in parts for part in checks.true)
        return cls(table, summed((natural, forced)), natural, true)


def _possible(forced: PcChecks, natural: PcChecks) -> PcChecks:
    """Forced visits without those where a row is wrong that was right on another path: no run takes such a path."""
    right = [part.pc[part.visits > part.wrong] for part in (natural, forced)]
    impossible = (forced.wrong > 0) & np.isin(forced.pc, np.concatenate(right))
    nothing = np.uint64(0)
    return replace(
        forced,
        wrong=np.where(impossible, 0, forced.wrong),
        some=np.where(impossible, nothing, forced.some),
        every=np.where(impossible, nothing, forced.every),
        first=np.where(impossible, -1, forced.first),
        trace=np.where(impossible, -1, forced.trace),
    )


def _file_check(
    path: Path,
    image: Image,
    tables: Mapping[str, RowTable | UnwindError],
    results: Sequence[GroupResult],
    options: CheckOptions,
) -> FileCheck:
    counted = [counts for result in results for counts in result.pieces]
    sizes = {
        pc: size
        for counts in counted
        for pc, size in zip(counts.instructions.tolist(), counts.sizes.tolist(), strict=True)
    }
    words = _words(image)
    natural = _union(result.natural for result in results)
    on_forced = _union(result.on_forced for result in results)
    findings: list[TableFinding] = []
    rowless: list[NDArray[np.uint64]] = []
    compared, said = 0, []
    for name, table in tables.items():
        if not isinstance(table, RowTable):
            findings.append(_unreadable(name, table))
            continue
        said.append(table.source)
        one = _OneTable.of(table, [result.tables[name] for result in results])
        compared += int(one.every.visits.sum())
        if name not in AT_CALLS:
            rowless.append(one.every.pc[one.every.some == NO_ROW])
        findings += _findings(image, name, one, sizes, words)
    functions = _functions(counted, natural, on_forced, rowless)
    return FileCheck(
        path,
        image.arch,
        tuple(said),
        functions,
        tuple(findings),
        options.seed,
        sum(result.runs for result in results),
        sum(result.steps for result in results),
        compared,
        dict(sum((Counter(result.dropped) for result in results), Counter[str]())),
        image.notes,
    )


def _union(parts: Iterator[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate([np.empty(0, np.uint64), *parts]))


def _findings(
    image: Image, name: str, one: _OneTable, sizes: Mapping[int, int], words: CodeWords
) -> Iterator[TableFinding]:
    """The findings of one table; of a function that says it is outermost, nothing that follows from being called."""
    on_natural = frozenset(one.natural.pc[one.natural.wrong > 0].tolist())
    wrong = frozenset(one.every.pc[one.every.wrong > 0].tolist())
    true = {pc: row for pc, row in one.true.items() if pc in sizes}
    by_pc = dict(zip(one.every.pc.tolist(), range(len(one.every)), strict=True))
    keep = np.array([by_pc[pc] for pc in true], np.int64)
    checks = _chosen(one.every, np.sort(keep))
    found = table_findings(
        one.table,
        image,
        checks,
        true,
        sizes,
        words,
        evidence=lambda pc: HowKnown.EXECUTED if pc in on_natural else HowKnown.FORCED,
        advises=name in OF_DIRECTIVES and name not in AT_CALLS,
    )
    yield from (finding for finding in found if finding.pc in wrong)


def _chosen(checks: PcChecks, at: NDArray[np.int64]) -> PcChecks:
    counts = checks.visits[at], checks.wrong[at], checks.untried[at]
    return PcChecks(checks.pc[at], *counts, checks.some[at], checks.every[at], checks.first[at], checks.trace[at])


def _unreadable(name: str, why: UnwindError) -> TableFinding:
    thing = WrongThing("row", "nothing that can be read", str(why))
    return TableFinding(FindingKind.UNREADABLE, name, "", 0, "", "", (thing,), HowKnown.STATIC, 0)


def _functions(
    counted: Sequence[PieceCounts],
    natural: NDArray[np.uint64],
    on_forced: NDArray[np.uint64],
    rowless: Sequence[NDArray[np.uint64]],
) -> tuple[FunctionCheck, ...]:
    """How much of each function was executed, and how much of it no table knows."""
    silent = rowless[0] if rowless else np.empty(0, np.uint64)
    for other in rowless[1:]:
        silent = np.intersect1d(silent, other)
    found = []
    for counts in counted:
        own = counts.instructions
        by_itself = np.isin(own, natural)
        found.append(
            FunctionCheck(
                str(counts.piece),
                counts.piece.start,
                counts.piece.end,
                len(own),
                int(by_itself.sum()),
                int((np.isin(own, on_forced) & ~by_itself).sum()),
                0,
                int(np.isin(own, silent).sum()),
                counts.calls,
                counts.returned,
                counts.note,
            )
        )
    return tuple(found)


def _words(image: Image) -> CodeWords:
    """How the code of a file is named."""

    def where(pc: int) -> str:
        function = image.function_at(pc)
        if function is None:
            return f"{pc:#x}"
        return f"{function.name}+{pc - function.address:#x}" if pc != function.address else function.name

    def source(pc: int) -> tuple[str, int]:
        line = debug_info(image).line_at(pc)
        return (line.file, line.line) if line is not None and line.line else ("", 0)

    return CodeWords(where, lambda pc: disassemble(image.isa_at(pc), image.bytes_at(pc, 16), pc), source)
