"""The second pass of a sweep: entries that a static look doubts are called, and what was executed decides about them.

All doubtful entries of a file are called at once, since opening a file costs more than most calls. An entry is wrong if
a row of it was wrong at an executed instruction. A suspect is right only if control came to the instruction by the way
that was doubted, and all that its row says was right there; any other entry, only if all its instructions were
executed. Whatever else comes of it decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import current_process
from pathlib import Path

from testbed.checks.check_file import Counted, check_in_parts, codes_of_parts, groups_done, planned_groups
from testbed.checks.file_result import file_check
from testbed.checks.groups import FileAtWork, Group, GroupResult, fits, opened
from testbed.checks.model import FileCheck, FindingKind, FunctionCheck, HowKnown, Severity, TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.readers import Readers
from testbed.image import Image, read_image
from testbed.sweep.model import AskedEntry, CalledEntry, EntryAnswer, ExecutedAnswer, Sample
from testbed.sweep.native import entries
from testbed.sweep.static_pass import TABLES, jumpers
from testbed.sweep.sweep_file import agreeing
from testbed.words.edges import internal_words, is_internal
from testbed.words.errors import TestbedError
from testbed.words.table_formats import BY_SECTION

_ABOUT_ROWS = (FindingKind.WRONG_ROW, FindingKind.NO_ROW, FindingKind.NO_EPILOGUE_ROWS, FindingKind.OTHER_ENTRY)


@dataclass(frozen=True, slots=True)
class _CallsOfFile:
    """What came of all calls of a file."""

    check: FileCheck
    results: Sequence[GroupResult]

    def ways(self, section: str, *, forced: bool) -> set[tuple[int, int]]:
        """The ways by which control came to instructions whose rows were right."""
        name = BY_SECTION[section].name
        right = (each for result in self.results for each in result.tables[name].right)
        return {tuple(way) for each in right for way in (each.forced if forced else each.natural).tolist()}


def call_entries(
    path: Path,
    asked: Sequence[AskedEntry],
    sample: Sample | None,
    readers: Readers,
    jobs: int = 1,
    progress: Counted | None = None,
) -> tuple[CalledEntry, ...]:
    """What execution says of some entries of a file, and of a ``sample`` of those that agree.

    ``progress`` is told how many groups of functions are done, and of how many. Where the file as a whole cannot be
    called, each entry is told as not decided, with the reason.
    """
    try:
        image = read_image(path)
        drawn = tuple(agreeing(image, sample)) if sample is not None else ()
    except TestbedError as error:
        return tuple(not_decided(each, str(error)) for each in asked)
    every = (*asked, *drawn)
    if not every:
        return ()
    try:
        return tuple(_decided(every, _call(image, path, every, readers, jobs, progress)))
    except TestbedError as error:
        return tuple(not_decided(each, str(error)) for each in every)
    except Exception as error:
        if not is_internal(error):
            raise
        return tuple(not_decided(each, internal_words(error)) for each in every)


def not_decided(asked: AskedEntry, why: str) -> CalledEntry:
    """That execution says nothing of an entry."""
    return CalledEntry(asked.section, asked.start, asked.answer, ExecutedAnswer.NOT_DECIDED, "", why, 0, 0)


def _call(
    image: Image,
    path: Path,
    asked: Sequence[AskedEntry],
    readers: Readers,
    jobs: int,
    progress: Counted | None,
) -> _CallsOfFile:
    """Call the functions that some entries are for, or whose parts they are."""
    starts = {each.start for each in asked} | _callers_of_parts(image, asked)
    tables = tuple(dict.fromkeys(BY_SECTION[each.section].name for each in asked))
    options = CheckOptions(functions=tuple(f"{start:#x}" for start in sorted(starts)), tables=tables)
    this = opened(path, path, options, readers)
    chosen = [piece for piece in this.pieces if piece.is_entry and fits(piece, options.functions)]
    ways = frozenset((each.came, each.at) for each in asked if each.came >= 0)
    planned = planned_groups(this, chosen, Group(path, path, 0, 0, options, readers, executes=True, ways=ways))
    if current_process().daemon:  # of a cluster: it may start none, and the cluster knows what to do when it dies
        results = [check_in_parts(group) for group in planned]
    else:
        results = groups_done(planned, jobs, progress=progress) if planned else []
    return _CallsOfFile(_checked(this, path, results, options, chosen), results)


def _checked(
    this: FileAtWork, path: Path, results: Sequence[GroupResult], options: CheckOptions, chosen: Sequence[object]
) -> FileCheck:
    if not chosen:
        nothing = file_check(path, this.image, {}, (), options, this.pieces, reads=False)
        return replace(nothing, notes=("no function that is called leads there",))
    entries_of = [piece for piece in this.pieces if piece in chosen]
    parts = codes_of_parts(this, entries_of, options.functions)
    return file_check(path, this.image, this.tables, results, options, this.pieces, parts, reads=False)


def _callers_of_parts(image: Image, asked: Sequence[AskedEntry]) -> set[int]:
    """The functions that jump to entries which are parts of one, through other parts, too."""
    found: set[int] = set()
    for section in TABLES:
        ranges = {(each.start, each.end) for each in asked if each.section == section and each.is_part}
        while ranges:
            jumped = jumpers(image, section, sorted(ranges))
            new = {(int(each[entries.START]), int(each[entries.END])) for each in jumped}
            ranges = {each for each in new if each[0] not in found}
            found |= {start for start, _ in ranges}
    return found


def _decided(asked: Sequence[AskedEntry], called: _CallsOfFile) -> Iterator[CalledEntry]:
    pieces = {piece.start: piece for piece in called.check.pieces}
    by_section = {each.section for each in asked}
    ways = {
        (s, forced): called.ways(s, forced=forced) for s in by_section if called.results for forced in (False, True)
    }
    for each in asked:
        wrong = _wrong(each, called.check.findings)
        piece = pieces.get(each.start)
        counts = (piece.executed + piece.forced, piece.instructions) if piece else (0, 0)
        if wrong is not None:
            verdict = (
                ExecutedAnswer.NOTED
                if wrong.severity is Severity.NOTE
                else ExecutedAnswer.CONFIRMED_FORCED
                if wrong.evidence is HowKnown.FORCED
                else ExecutedAnswer.CONFIRMED
            )
            things = "; ".join(f"{thing.says}, and {thing.true}" for thing in wrong.things) or wrong.kind.value
            said = f"{wrong.pc:#x}: {things}"
            yield CalledEntry(each.section, each.start, each.answer, verdict, wrong.severity.value, said, *counts)
            continue
        verdict = ExecutedAnswer.NOT_DECIDED
        for forced, right in ((True, ExecutedAnswer.ACQUITTED_FORCED), (False, ExecutedAnswer.ACQUITTED)):
            if _is_right(each, piece, ways.get((each.section, forced), set()), forced=forced):
                verdict = right
        said = "" if verdict is not ExecutedAnswer.NOT_DECIDED else _why(each, piece, called.check.notes)
        yield CalledEntry(each.section, each.start, each.answer, verdict, "", said, *counts)


def _wrong(asked: AskedEntry, findings: Sequence[TableFinding]) -> TableFinding | None:
    """What was wrong at an executed instruction of an entry: more than a note, on a natural path, if there is such."""
    told = [
        each
        for finding in findings
        for each in finding.each
        if each.kind in _ABOUT_ROWS
        and each.table == asked.section
        and asked.start <= each.pc < asked.end
        and each.evidence is not HowKnown.STATIC
    ]
    return min(told, key=lambda each: (each.severity is Severity.NOTE, each.evidence is HowKnown.FORCED), default=None)


def _is_right(
    asked: AskedEntry, piece: FunctionCheck | None, ways: Collection[tuple[int, int]], *, forced: bool
) -> bool:
    """Whether execution shows that what is said of an entry does not hold."""
    if asked.answer is EntryAnswer.SUSPECT:
        if asked.came >= 0:
            return (asked.came, asked.at) in ways
        return any(at == asked.at for _, at in ways)
    if piece is None or piece.instructions == 0:
        return False
    return (piece.executed + piece.forced if forced else piece.executed) == piece.instructions


def _why(asked: AskedEntry, piece: FunctionCheck | None, notes: Sequence[str]) -> str:
    """Why execution decides nothing."""
    if piece is None:
        return notes[0] if notes else "it is not called, and nothing that is called leads there"
    if piece.note:
        return piece.note
    reached = f"{piece.executed + piece.forced} of {piece.instructions} instructions executed"
    if asked.answer is EntryAnswer.SUSPECT:
        way = f" from {asked.came:#x}" if asked.came >= 0 else ""
        return f"{reached}; none came to {asked.at:#x}{way}, or its row could not be tried there"
    return reached
