"""`testbed check`: every function of a file called, every row of its tables held against what was watched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from testbed.checks.file_result import file_check
from testbed.checks.fixing import told_of_macros
from testbed.checks.groups import (
    FileAtWork,
    Group,
    GroupResult,
    PieceCounts,
    check_group,
    counts_of,
    fits,
    groups_of,
    joined,
    opened,
    without_runs,
)
from testbed.checks.inputs import SOURCES, program_file
from testbed.checks.kept_groups import KeptGroups
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers
from testbed.checks.static_rows import doubted_ways
from testbed.checks.tried_source import TriedSource
from testbed.checks.workers import as_finished, interrupts_held, worker_pool
from testbed.contract.rows import RowTable
from testbed.conventions.chosen import fitting_nothing
from testbed.image import Image
from testbed.micro.code import piece_code
from testbed.micro.function_parts import parts_of_file
from testbed.micro.functions import CodePiece
from testbed.words.catalogue import nearest
from testbed.words.edges import internal_words, is_internal
from testbed.words.errors import NothingAskedFor, UsageError
from testbed.words.printable import printable

# A group of functions of which one cannot be checked: that one costs its own result only.
#
# The process may die over it, which `died` is for, or the testbed itself makes a mistake: then the group is parted
# until that function stands alone.


def check_in_parts(group: Group) -> GroupResult:
    """What `check_group` finds; of a function over which the testbed fails, that it does."""
    try:
        return check_group(group)
    except Exception as error:
        if not is_internal(error):
            raise
        opened.cache_clear()  # its machine stands in the midst of a call
        if group.end - group.first == 1:
            return without_result(group, internal_words(error), failed=True)
    return joined([check_in_parts(half) for half in halves(group)])


def halves(group: Group) -> tuple[Group, Group]:
    """A group of several pieces cut in two, to find the one that ends its process."""
    first, second = pairwise((group.first, (group.first + group.end) // 2, group.end))
    return replace(group, first=first[0], end=first[1]), replace(group, first=second[0], end=second[1])


def died(group: Group) -> GroupResult:
    """The result of a group whose process died."""
    return without_result(group, "the emulator died over it")


def without_result(group: Group, note: str, *, failed: bool = False) -> GroupResult:
    """The result of a group of which only the instructions are known."""
    this = opened(group.file, group.path, replace(group.options, jobs=1), group.readers)
    counts = tuple(
        replace(counts_of(piece, piece_code(this.image, piece)), note=note, failed=failed)
        for piece in this.pieces[group.first : group.end]
        if piece.is_entry and fits(piece, group.options.functions)
    )
    return without_runs(this, counts)


# Code that nobody calls, as a part of what a file is made of.
#
# It is counted with the file's code, whatever was tried of it: a check says nothing of more than it knows. What is
# judged of it, `testbed.checks.impossible` says: steps in the activation of a function that jumped there.


def codes_of_parts(this: FileAtWork, chosen: Sequence[CodePiece], patterns: Sequence[str]) -> tuple[PieceCounts, ...]:
    """The instructions of code that nobody calls; where functions were ``chosen``, of their parts only."""
    parts = parts_of_file(this.image, this.pieces)
    if patterns:
        led_to = {part for piece in chosen for part in this.explorer.parts.of(piece)}
        parts = tuple(part for part in parts if part in led_to or fits(part, patterns))
    return tuple(counts_of(part, piece_code(this.image, part)) for part in parts)


_CHOOSES = re.compile(rb"^\s*#\s*if", re.MULTILINE)  # the preprocessor, by conditions
_MOST_NAMED = 5
_NOT_CALLED = "not called, {} of code{}: what stands there is no function that someone calls"
Counted = Callable[[int, int], None]


def check_file(
    path: Path,
    options: CheckOptions,
    readers: Readers,
    *,
    executor: Executor | None = None,
    progress: Counted | None = None,
    goes_on: bool | None = None,
    text: str | None = None,
) -> FileCheck:
    """Check one file of any kind: source, object, archive, shared object, program; ``text`` stands for a source's own.

    Groups of functions are checked in ``options.jobs`` processes, or by ``executor``. ``goes_on``: each is kept until
    all are done, and what an interrupted check of the same has kept is not done again (False: it is).

    Raises BuildError, ToolchainMissing, ImageError, and UsageError for a file without tables, or without a function
    that was asked for.
    """
    found = _checked(path, options, readers, executor, progress, goes_on, text)
    repairs = [told.repair for told in found.findings if told.repair]
    if not any(edit.is_macros_own or edit.inside for repair in repairs for edit in repair.edits):
        return found
    own = path.read_text("utf-8", "surrogateescape") if text is None else text
    return told_of_macros(path, own, found, lambda new, _: _checked(path, options, readers, executor, None, None, new))


def _checked(
    path: Path,
    options: CheckOptions,
    readers: Readers,
    executor: Executor | None,
    progress: Counted | None,
    goes_on: bool | None,
    text: str | None,
) -> FileCheck:
    """A check of which each finding is told by itself."""
    with program_file(path, options.arch, options.flags, text) as file:
        this = opened(file, path, replace(options, jobs=1), readers)
        chosen = [piece for piece in this.pieces if piece.is_entry and fits(piece, options.functions)]
        parts = codes_of_parts(this, chosen, options.functions)
        if not chosen and not (options.functions and parts):
            if options.functions:
                wanted, names = " or ".join(options.functions), [str(each) for each in this.pieces]
                raise NothingAskedFor(f"{path}: it has no function that matches {wanted}; {nearest(wanted, names)}")
            if not any(each.executable and each.filled for each in this.image.segments):
                raise NothingAskedFor(f"{path}: {_no_code(this.image, path, options)}")
            raise UsageError(f"{path}: it has no function: {_no_function(this)}")
        ways = frozenset(doubted_ways(this.image, this.tables))
        planned = planned_groups(this, chosen, Group(file, path, 0, 0, options, readers, ways=ways))
        kept = None if goes_on is None else KeptGroups.of(file, options)
        if kept is not None and not goes_on:
            kept.forget()
        results = groups_done(planned, options.jobs, executor, progress, kept)
        source = TriedSource(path, text, options, readers, this.image) if path.suffix in SOURCES else None
        found = file_check(path, this.image, this.tables, results, options, this.pieces, parts, source)
        if kept is not None:  # not before: advice for many findings takes as long as the calls
            kept.forget()
        uncalled = [each.piece for each in parts] if options.functions else this.pieces
        return replace(found, notes=(*found.notes, *_notes(this, chosen, uncalled)))


def _no_code(image: Image, path: Path, options: CheckOptions) -> str:
    """That a file has no code, and what its author may have meant."""
    if path.suffix in SOURCES and _CHOOSES.search(path.read_bytes()):
        return (
            f"it has no code for {image.arch}: if its conditions (#if) leave that out, say what they ask for,"
            " by --arch, or behind -- (-DNAME)"
        )
    return "it has no code, so that no unwind table is asked for: leave it out"


def _no_function(this: FileAtWork) -> str:
    """Why there is nothing that could be called."""
    named = ", ".join(printable(str(piece)) for piece in this.pieces[:_MOST_NAMED])
    tables = [table for table in this.tables.values() if isinstance(table, RowTable)]
    rows = [row for piece in this.pieces for table in tables if (row := table.at(piece.start)) is not None]
    if rows and all(row.signal_frame for row in rows):
        return f"the rows of {named} are for a frame that the kernel makes, of a signal"
    why = f"the first row of {named} is not that of a function that someone calls"
    return why if this.pieces else "no symbol, table or call says that one begins somewhere"


def _notes(this: FileAtWork, chosen: Sequence[CodePiece], pieces: Sequence[CodePiece]) -> Iterator[str]:
    """What was not done of what was asked for, and what was not called of some ``pieces``."""
    parts = [piece for piece in pieces if not piece.is_entry]
    if parts:
        named = [printable(piece.name) for piece in parts if piece.name]
        names = ", ".join([*named[:_MOST_NAMED], *["..."] * (len(named) > _MOST_NAMED)])
        yield _NOT_CALLED.format(f"{len(parts)} place{'s' * (len(parts) > 1)}", f" ({names})" * bool(names))
    for plan in this.plans:
        if not any(plan.fits(name) for piece in chosen for name in (str(piece), *piece.names)):
            yield f"--call {plan.name}(...) calls nothing here: of the functions that are checked none has this name"
    for pattern in fitting_nothing(this.image, this.image.conventions):
        yield f"--convention of {pattern!r} is said of nothing here: it has no such function"


def planned_groups(this: FileAtWork, chosen: Sequence[CodePiece], like: Group) -> list[Group]:
    """The groups in which some functions of a file are."""
    starts = {piece.start for piece in chosen}
    return [
        replace(like, first=first, end=end)
        for first, end in groups_of(this.pieces)
        if any(piece.start in starts for piece in this.pieces[first:end])
    ]


def groups_done(
    planned: Sequence[Group],
    jobs: int,
    executor: Executor | None = None,
    progress: Counted | None = None,
    kept: KeptGroups | None = None,
) -> list[GroupResult]:
    """The results of all groups, in order. A function over which the emulator dies costs its own result only."""
    before = {number: kept.get(group) for number, group in enumerate(planned)} if kept is not None else {}
    found: dict[int, list[GroupResult]] = {number: [result] for number, result in before.items() if result is not None}

    def took(number: int, results: list[GroupResult]) -> None:
        found[number] = results
        if kept is not None and len(results) == 1:
            kept.keep(planned[number], results[0])
        if progress is not None:
            progress(len(found), len(planned))

    with nullcontext(executor) if executor is not None else worker_pool(jobs) as pool:
        left = [(number, group) for number, group in enumerate(planned) if number not in found]
        with interrupts_held():
            futures = {pool.submit(check_in_parts, group): number for number, group in left}
        try:
            for future in as_finished(futures):
                with suppress(BrokenExecutor):
                    took(futures[future], [future.result()])
        except BaseException:
            for future, number in futures.items():
                if not future.cancel() and future.done() and future.exception() is None and number not in found:
                    took(number, [future.result()])
            raise
    for number, group in enumerate(planned):
        if number not in found:
            took(number, _alone(group))
    return [result for number in range(len(planned)) for result in found[number]]


def _alone(group: Group) -> list[GroupResult]:
    """A group in a process of its own; if that dies, each of its functions in one."""
    with worker_pool(1) as pool:
        try:
            return [pool.submit(check_in_parts, group).result()]
        except BrokenExecutor:
            if group.end - group.first == 1:
                return [died(group)]
    return [result for half in halves(group) for result in _alone(half)]
