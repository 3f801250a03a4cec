"""What all groups of a file found, as one `FileCheck`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.alike import group_findings
from testbed.checks.called_pieces import is_returned_to
from testbed.checks.code_spans import span_at, unknown_code
from testbed.checks.code_words import CodeWords, contradictions, words_of
from testbed.checks.consequence import between_rows, worst
from testbed.checks.contracts import FileCalls
from testbed.checks.groups import GroupResult, PieceCounts, TableChecks, function_checks
from testbed.checks.model import (
    AT_CALLS_ONLY,
    Consequence,
    FileCheck,
    FindingKind,
    HowKnown,
    TableFinding,
    WrongThing,
)
from testbed.checks.native.codes import NO_ROW
from testbed.checks.options import CheckOptions
from testbed.checks.own_sources import sources_of
from testbed.checks.pc_checks import ResultsByPc, summed
from testbed.checks.preprocessed import left_out_by_the_build
from testbed.checks.static_rows import NOT_READ, StaticReading, SuspectEntry, read_statically
from testbed.checks.table_findings import half_cfas, table_findings, unreadable
from testbed.checks.tried_source import TriedSource
from testbed.checks.true_rows import ObservedRow, merged
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.conventions.chosen import chosen, taken
from testbed.image import Image
from testbed.micro.functions import CodePiece
from testbed.words.errors import UnwindError
from testbed.words.printable import printable
from testbed.words.table_formats import AT_CALLS, OF_DIRECTIVES

# What some producers of tables are known to leave out: told once a file, not once a function.
#
# LLVM's ARM back end writes `.cfi_*` directives in emitPrologue only (llvm/lib/Target/ARM/ARMFrameLowering.cpp): from
# the first instruction of an epilogue on, and in code behind one, the row still describes the whole frame.

# Tables without rows for epilogues, by architecture and unwinder: what the producer says of itself in `.comment`.
_NO_EPILOGUES = {("arm32", "debug_frame"): b"clang", ("arm32", "eh_frame"): b"clang"}


def told_once(
    findings: Sequence[TableFinding], image: Image, name: str, table: RowTable, true: Mapping[int, ObservedRow]
) -> list[TableFinding]:
    """The findings, with those of epilogues as one note where the producer is known to write no rows for them."""
    findings = group_findings(findings, parts=name in AT_CALLS or not len(table))
    comment = image.sections.get(".comment")
    producer = _NO_EPILOGUES.get((image.arch.name, name))
    if producer is None or comment is None or producer not in comment.data:
        return list(findings)
    found = [each for each in findings if _in_an_epilogue(each, table, true, image.arch)]
    if not found:
        return list(findings)
    instructions = sum(each.instructions for each in found)
    kind = FindingKind.NO_EPILOGUE_ROWS
    note = replace(found[0], kind=kind, instructions=instructions, repair=None, consequence=None)
    return [*(each for each in findings if each not in found), note]


def _in_an_epilogue(finding: TableFinding, table: RowTable, true: Mapping[int, ObservedRow], arch: Arch) -> bool:
    """Does the row describe a frame of which a part is gone: SP is above that, or the frame pointer the caller's?"""
    row, here = table.at(finding.pc), true.get(finding.pc)
    if finding.kind is not FindingKind.WRONG_ROW or row is None or here is None:
        return False
    if not isinstance(row.cfa, RegisterPlus):
        return False
    if row.cfa.register == arch.sp:
        return here.cfa.get(arch.sp, row.cfa.offset) < row.cfa.offset
    place = here.places.get(row.cfa.register)
    return row.cfa.register in arch.frame_pointers and place is not None and place.in_place


# The tables of one file held against each other, at instructions that nothing executed.
#
# Where an instruction was executed each table was held against the truth, and the one that is wrong has a finding. The
# same holds where the static pass says which is wrong. What is left: two tables that contradict each other, of which
# one must be wrong.


def formats_differ(
    tables: Mapping[str, RowTable],
    counted: Sequence[PieceCounts],
    executed: Collection[int],
    words: CodeWords,
    image: Image,
) -> Iterator[TableFinding]:
    """One finding for each function in which two tables contradict each other; not at what was ``executed``.

    Tables that promise rows at calls only say nothing of single instructions, and are left out.
    """
    asked = {name: table for name, table in tables.items() if name not in AT_CALLS}
    for one, other in combinations(asked.values(), 2):
        for counts in counted:
            pcs = [pc for pc in counts.instructions.tolist() if pc not in executed]
            found = {pc: things for pc in pcs if (things := _contradictions(one, other, pc, image.arch))}
            if found:
                pc = next(iter(found))
                yield TableFinding(
                    kind=FindingKind.FORMATS_DIFFER,
                    table=one.source,
                    function=str(counts.piece),
                    things=found[pc],
                    evidence=HowKnown.STATIC,
                    instructions=len(found),
                    consequence=_between(one.at(pc), other.at(pc), found[pc], words.where(pc), image),
                    **words.named(pc),
                )


def _contradictions(one: RowTable, other: RowTable, pc: int, arch: Arch) -> tuple[WrongThing, ...]:
    """What the rows of two tables say of one instruction that cannot both be so."""
    row, against, says = one.at(pc), other.at(pc), f"and {other.source} says"
    if row is None or against is None:
        return ()
    return contradictions(row, against, arch, f"{says} CFA =", f"{says} it is")


def _between(
    row: UnwindRow | None, true: UnwindRow | None, things: Sequence[WrongThing], where: str, image: Image
) -> Consequence | None:
    """What comes of a row if another one is right."""
    if row is None or true is None:
        return None
    wrong = frozenset(thing.what for thing in things)
    return between_rows(row, true, wrong, chosen(image, row.start).convention, where)


_UNTOLD = "its row at {} is wrong, and the testbed has no words for it: please report it with this file"
Pcs = NDArray[np.uint64]
_FEW = 3  # instructions that are named
# Functions of crt1.o, crti.o, crtbegin.o (GCC: libgcc/crtstuff.c; glibc: sysdeps/ARCH/start.S, crti.S).
_START_FILES = frozenset(
    {
        *("_start", "_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux"),
        *("frame_dummy", "call_weak_fn", "__gmon_start__", ".init", ".fini"),
    }
)

_NOT_EXECUTED = "nobody executed it, and the instructions alone do not say what is true there"


@dataclass(frozen=True, eq=False)
class _OneTable:
    """All that was found of one table, over all groups."""

    table: RowTable
    every: ResultsByPc
    natural: ResultsByPc
    true: Mapping[int, ObservedRow]
    undecided: Pcs  # instructions of which every visit was left out
    astray: NDArray[np.uint64]  # those that are right, but on forced paths, with the branches that were turned
    changed: NDArray[np.uint64]  # `changed_at_all`

    @classmethod
    def of(cls, table: RowTable, parts: Sequence[TableChecks]) -> _OneTable:
        natural = summed(part for checks in parts for part in checks.natural)
        forced = summed(part for checks in parts for part in checks.forced)
        forced = _possible(forced, natural)
        true = merged(part for checks in parts for part in checks.true)
        every, left_out = summed((natural, forced)), _union(each for checks in parts for each in checks.left_out)
        pairs = np.concatenate([np.empty((0, 2), np.uint64), *(each for checks in parts for each in checks.astray)])
        astray = np.unique(pairs[np.isin(pairs[:, 0], every.pc[every.wrong == 0])], axis=0)
        changed = np.concatenate([np.empty((0, 3), np.uint64), *(each for checks in parts for each in checks.changed)])
        return cls(table, every, natural, true, np.setdiff1d(left_out, every.pc), astray, changed)


def _possible(forced: ResultsByPc, natural: ResultsByPc) -> ResultsByPc:
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


def file_check(
    path: Path,
    image: Image,
    tables: Mapping[str, RowTable | UnwindError],
    results: Sequence[GroupResult],
    options: CheckOptions,
    pieces: Sequence[CodePiece],
    parts: Sequence[PieceCounts] = (),
    source: TriedSource | None = None,
    *,
    reads: bool = True,
) -> FileCheck:
    """The sum of the groups' results; ``image`` has every function under a name. ``parts`` are not called.

    ``pieces`` are all code of the file; ``source``: it is one; ``reads``: what was not executed is read statically.
    """
    counted, returned_to = list[PieceCounts](), list[PieceCounts]()
    for counts in (counts for result in results for counts in result.pieces):
        of = returned_to if is_returned_to(counts.to_answers, counts.returned, tables, image.arch) else counted
        of.append(counts)
    sizes = {
        pc: size
        for counts in (*counted, *parts)
        for pc, size in zip(counts.instructions.tolist(), counts.sizes.tolist(), strict=True)
    }
    words = replace(words_of(image, source.sources if source else sources_of(path)), tried=source)
    read = {name: table for name, table in tables.items() if isinstance(table, RowTable)}
    one_of = {name: _OneTable.of(table, [each.tables[name] for each in results]) for name, table in read.items()}
    undecided = _union(one.undecided for one in one_of.values())
    nothing_said = _union((undecided, *(counts.instructions for counts in returned_to)))
    natural = np.setdiff1d(_union(result.natural for result in results), nothing_said)
    on_forced = np.setdiff1d(_union(result.on_forced for result in results), nothing_said)
    executed = frozenset(np.union1d(natural, on_forced).tolist())
    findings = [unreadable(name, table) for name, table in tables.items() if not isinstance(table, RowTable)]
    failures = {str(counts.piece): counts.note for counts in counted if counts.failed}
    left_out = left_out_by_the_build(source.sources) if source else ""
    calls = FileCalls(image, pieces, source is not None, left_out)
    instructions, only_read, notes = np.array(sorted(sizes), np.uint64), list[Pcs](), list[str]()
    untried = 0
    for name, one in one_of.items():
        is_read, every = reads and name not in AT_CALLS, len(executed) == len(sizes)
        reading = read_statically(image, name, one.table) if is_read else None
        wrong = one.every.pc[one.every.wrong > 0]
        bare = reading.true_of_bare({*wrong.tolist()}, sizes) if reading and not every else {}
        findings += _findings(calls, name, one, bare, sizes, words, failures)
        findings += half_cfas(one.table, image, sizes, words)
        if not is_read:
            continue
        ways = [ways for result in results for each in result.tables[name].right for ways in each]
        if reading is None:
            notes += () if every else (f"{one.table.source}: what was not executed is not read either: {NOT_READ}",)
            continue
        suspects = [*_not_refuted(one, reading.suspects(sizes), ways)]
        unchanged = [*_never_other(one, reading, instructions, words)]
        not_taken = [*_untried_ways(one, suspects, words)] if every else []
        untried += len(unchanged) + len(not_taken)
        notes += (*_never_other_note(one.table.source, unchanged), *not_taken)
        if every:
            continue
        advises = name in OF_DIRECTIVES
        findings += _static_findings(one, image, suspects, (sizes, words), only_read, advises=advises)
        only_read.append(instructions[reading.agrees(instructions)])
    accused = {each.function for each in findings if each.evidence is HowKnown.STATIC}
    differing = formats_differ(read, counted, executed, words, image) if reads else ()
    findings += [each for each in differing if each.function not in accused]
    rowless = [one.every.pc[one.every.some == NO_ROW] for name, one in one_of.items() if name not in AT_CALLS]
    were_read = _union(iter(only_read))
    undecided = np.intersect1d(np.setdiff1d(undecided, were_read), instructions)
    astray = [note for one in one_of.values() for note in _astray_note(one.table.source, one.astray, words)]
    unknown, about_unknown = unknown_code(image, pieces)
    about_returned_to = _of_returned_to(returned_to)
    functions = function_checks(counted, natural, on_forced, were_read, rowless)
    return FileCheck(
        path,
        image.arch,
        tuple(
            f"{table.source}{AT_CALLS_ONLY}" if name in AT_CALLS else table.source
            for name, table in read.items()
            if not table.is_empty
        ),
        functions,
        tuple(findings),
        options.seed,
        sum(result.runs for result in results),
        sum(result.steps for result in results),
        sum(int(one.every.visits[one.every.some != NO_ROW].sum()) for one in one_of.values()),
        dict(sum((Counter(result.dropped) for result in results), Counter[str]())),
        (*image.notes, *notes, *_undecided_note(len(undecided)), *astray, *about_unknown, *about_returned_to),
        failures=failures,
        untried=untried,
        unknown=unknown,
        parts=function_checks((*parts, *returned_to), natural, on_forced, were_read, rowless),
        conventions=taken(chosen(image, function.start) for function in functions),
    )


def _astray_note(table: str, astray: NDArray[np.uint64], words: CodeWords) -> Iterator[str]:
    """Which rows are wrong on forced paths, and count as right since they are on other ones; what was forced there."""
    branches: defaultdict[int, list[int]] = defaultdict(list)
    for pc, branch in astray.tolist():
        branches[pc].append(branch)
    first: dict[str, str] = {}  # by function
    for pc, its in branches.items():
        turned = f"control was turned at {words.where(max(its))}" if any(its) else "what it calls was answered"
        first.setdefault(words.where(pc).partition("+")[0], f"{words.where(pc)} ({turned})")
    if first:
        number = f"{len(branches):,} instructions count" if len(branches) > 1 else "1 instruction counts"
        few = _first_few([*first.values()], len(branches))
        yield f"{table}: {number} as right, though wrong on a forced path: {few}"


def _first_few(named: Sequence[str], number: int) -> str:
    """Some of so many."""
    more = number - len(named[:_FEW])
    return ", ".join(named[:_FEW]) + f" and {more:,} more" * bool(more)


def _undecided_note(number: int) -> Iterator[str]:
    if number:
        yield (
            f"{number:,} {'instruction is' if number == 1 else 'instructions are'} undecided, though executed:"
            " what was seen there proves no row right or wrong"
        )


def _of_returned_to(pieces: Sequence[PieceCounts]) -> Iterator[str]:
    if pieces:
        names = printable(_first_few([str(counts.piece) for counts in pieces], len(pieces)))
        yield f"nobody calls {names}: each run returned to what a call had answered, so no caller is known there"


def _union(parts: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate([np.empty(0, np.uint64), *parts]))


def _findings(
    calls: FileCalls,
    name: str,
    one: _OneTable,
    bare: Mapping[int, ObservedRow],
    sizes: Mapping[int, int],
    words: CodeWords,
    failures: MutableMapping[str, str],
) -> Iterator[TableFinding]:
    """The findings of one table, at the instructions of functions that were decoded; ``failures`` gets more.

    ``bare`` is what is true besides where nobody executed it: `StaticReading.true_of_bare`.
    """
    image = calls.image
    on_natural = frozenset(one.natural.pc[one.natural.wrong > 0].tolist())
    wrong = frozenset(one.every.pc[one.every.wrong > 0].tolist())
    true = {pc: row for pc, row in {**bare, **one.true}.items() if pc in sizes}
    found: Sequence[TableFinding] = table_findings(
        one.table,
        image,
        {**dict.fromkeys(bare, 0), **one.every.masks},
        true,
        sizes,
        words,
        evidence=lambda pc: HowKnown.EXECUTED if pc in on_natural else HowKnown.FORCED,
        advises=name in OF_DIRECTIVES and name not in AT_CALLS,
        failures=failures,
    )
    told = {span_at(image, each.pc) for each in found}
    for pc in sorted(each for each in wrong if each in sizes):  # what is wrong is told, or else is no right row
        if (span := span_at(image, pc)) not in told and (span.name or hex(span.start)) not in failures:
            failures[span.name or hex(span.start)] = _UNTOLD.format(words.where(pc))
    found = [each for each in found if each.pc in wrong and not calls.begins_a_stack(each)]
    seen = [calls.as_seen(_as_start_code(each), one.table, one.true) for each in found]
    own = told_once(seen, image, name, one.table, one.true)
    yield from sorted(_one_each(own), key=lambda each: each.pc)


def _as_start_code(finding: TableFinding) -> TableFinding:
    """Code without a row that only a loader and the C run-time's start files call is noted, not counted as wrong."""
    start = finding.kind is FindingKind.NO_ROW and finding.function in _START_FILES
    return replace(finding, kind=FindingKind.START_WITHOUT_ROW, repair=None, consequence=None) if start else finding


def _static_findings(
    one: _OneTable,
    image: Image,
    suspects: Sequence[SuspectEntry],
    code: tuple[Mapping[int, int], CodeWords],
    only_read: list[Pcs],
    *,
    advises: bool,
) -> Iterator[TableFinding]:
    """What the static pass says of suspect entries.

    ``code``: how long instructions are, and how they are named. ``only_read`` gets the instructions of the entries that
    are told.
    """
    sizes, words = code
    for suspect in suspects:
        found = table_findings(
            one.table, image, dict.fromkeys(suspect.true, 0), suspect.true, sizes, words, advises=advises
        )
        only_read.append(np.array(sorted(suspect.true), np.uint64))
        told = [each for each in found if suspect.things & {thing.what for thing in each.things}]
        yield from (replace(each, evidence=HowKnown.STATIC) for each in told)
        if not told:
            yield TableFinding(
                kind=FindingKind.WRONG_ROW,
                table=one.table.source,
                function=span_at(image, suspect.at).name,
                things=(suspect.thing,),
                evidence=HowKnown.STATIC,
                instructions=max(len(suspect.wrong), 1),
                no_repair=_NOT_EXECUTED,
                **words.named(suspect.at),
            )


def _not_refuted(
    one: _OneTable, suspects: Iterable[SuspectEntry], ways: Sequence[NDArray[np.uint64]]
) -> Iterator[SuspectEntry]:
    """The suspects of which what was executed does not say the same as the static pass, or the contrary.

    The contrary where control came by the doubted way, one of ``ways`` on which all was right, or where a row was right
    of which the pass says that it is wrong on every way.
    """
    wrong = frozenset(one.every.pc[one.every.some != 0].tolist())
    executed, gone = frozenset(one.every.pc.tolist()), {tuple(way) for each in ways for way in each.tolist()}
    for suspect in suspects:
        is_right = (suspect.wrong - {suspect.at}) & executed or (suspect.came < 0 and suspect.at in executed)
        is_told = not wrong.isdisjoint((suspect.at, *suspect.pcs))
        if not (is_told or is_right or (suspect.came, suspect.at) in gone):
            yield suspect


def _never_other(one: _OneTable, reading: StaticReading, pcs: Pcs, words: CodeWords) -> Iterator[str]:
    """Registers of which rows say that they are the caller's, that code writes, and that no run has changed.

    It writes it under a condition that was not so, or wrote what was there: that shows nothing of their rows.
    """
    wrong, columns = one.every.pc[one.every.some != 0], reading.image.arch.index
    seen: defaultdict[tuple[int, int | None], set[int]] = defaultdict(set)
    for at, column, now in one.changed.tolist():
        seen[at, column].add(now)
    for start, end, name in reading.written(pcs) if seen else ():
        if seen.get((start, columns.get(name))) == {0} and not ((wrong >= start) & (wrong < end)).any():
            yield f"{name} at {words.where(start)}"


def _never_other_note(table: str, named: Sequence[str]) -> Iterator[str]:
    if named:
        yield (
            f"{table}: no run has changed {_first_few(named, len(named))}, which the instructions write, perhaps under"
            " a condition; --call can try it"
        )


def _untried_ways(one: _OneTable, suspects: Sequence[SuspectEntry], words: CodeWords) -> Iterator[str]:
    """Where every instruction was executed, and the static pass says that a row is wrong on a way that none went."""
    for suspect in suspects:
        if suspect.at not in one.astray[:, 0]:
            way = f"{words.where(suspect.at)} from {words.where(suspect.came)}"
            yield (
                f"{one.table.source}: no run came to {way}; by the instructions the row is wrong there:"
                f" {suspect.thing.says}, and {suspect.thing.true}; --call can try it"
            )


def _one_each(findings: Sequence[TableFinding]) -> Iterator[TableFinding]:
    """The findings without repair of one function as one: they are parts of something that no row can say.

    Registers that are gone are one thing, all else is another.
    """
    open_ones: dict[tuple[str, str, bool], TableFinding] = {}
    for finding in findings:
        key = (finding.table, finding.function, bool(finding.consequence and finding.consequence.gone))
        if finding.kind is not FindingKind.WRONG_ROW or finding.repair is not None:
            yield finding
        elif key in open_ones:
            first = open_ones[key]
            things = {thing.what: thing for thing in (*finding.things, *first.things)}
            open_ones[key] = replace(
                first,
                things=tuple(things.values())[::-1] if key[-1] else first.things,
                instructions=max(first.instructions, finding.instructions),
                consequence=_joined(first.consequence, finding.consequence),
            )
        else:
            open_ones[key] = finding
    yield from open_ones.values()


def _joined(first: Consequence | None, other: Consequence | None) -> Consequence | None:
    """The heavier of two; what is gone by either is gone."""
    if first is None or other is None:
        return first or other
    return replace(worst((first, other)), gone=tuple(dict.fromkeys((*first.gone, *other.gone))))
