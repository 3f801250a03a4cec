"""What is wrong in one table, as findings: a cause each, in words, with the directives that were tried.

The words are those of `testbed.checks.model`; who prints them says "the row says A, B".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from testbed.arch import Arch
from testbed.checks.advice import Advisor
from testbed.checks.code_spans import CodeSpan, span_at
from testbed.checks.code_words import CodeWords, cfa_words, rule_words
from testbed.checks.consequence import consequence_at, no_row, worst
from testbed.checks.frame_states import SIGNED, FrameState, cfa_of, state_spans
from testbed.checks.function_source import FunctionSource
from testbed.checks.model import (
    BEFORE_IT,
    SEVERITIES,
    Consequence,
    FindingKind,
    HowKnown,
    LaterDirectives,
    Repair,
    TableFinding,
    WrongThing,
)
from testbed.checks.native.codes import NO_ROW, UNREADABLE
from testbed.checks.other_entries import entered_otherwise
from testbed.checks.pc_checks import ResultsByPc
from testbed.checks.repair import Cause, find_causes
from testbed.checks.save_directives import FrameRepair, frame_repair, undescribed
from testbed.checks.source_directives import (
    ADJUST,
    CFA_REGISTERS,
    DEF_CFA,
    DEF_CFA_OFFSET,
    DEF_CFA_REGISTER,
    OF_REGISTERS,
    RESTORE_STATE,
    parts_named,
    register_of,
)
from testbed.checks.source_edits import SourceChange, only_moves
from testbed.checks.source_statements import Around, spelling
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction, TriedPc, points_into
from testbed.checks.tried_source import ALL_TOGETHER, MadeRight, TextTrial, ToldRepairs
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import RowTable, Undefined
from testbed.conventions import Convention
from testbed.conventions.chosen import chosen
from testbed.image import Image
from testbed.micro.code_scan import scan
from testbed.words.edges import internal_words, is_internal
from testbed.words.errors import CannotUnwind, UnwindError
from testbed.words.table_formats import BY_SECTION, Directives


def wrong_pcs(checks: ResultsByPc, image: Image) -> frozenset[int]:
    """All instructions that were compared of the functions with something wrong: what `true_rows` is asked for."""
    spans = {span_at(image, pc) for pc, some in zip(checks.pc.tolist(), checks.some.tolist(), strict=True) if some}
    return frozenset(pc for pc in checks.pc.tolist() if span_at(image, pc) in spans) if spans else frozenset()


def table_findings(
    table: RowTable,
    image: Image,
    masks: Mapping[int, int],
    true: Mapping[int, ObservedRow],
    sizes: Mapping[int, int],
    words: CodeWords,
    *,
    evidence: Callable[[int], HowKnown] = lambda pc: HowKnown.EXECUTED,
    advises: bool = True,
    failures: MutableMapping[str, str] | None = None,
) -> tuple[TableFinding, ...]:
    """Everything that is wrong in a table, by address.

    ``true`` holds what is true at `wrong_pcs`, ``masks`` what a trial found wrong there, ``sizes`` how long their
    instructions are. ``advises``: the table is made of `.cfi_*` directives, so these can be proposed. ``failures`` gets
    the functions at which the testbed itself fails (None: that is raised).
    """
    by_function: defaultdict[CodeSpan, list[int]] = defaultdict(list)
    for pc in sorted(true):
        by_function[span_at(image, pc)].append(pc)
    found: list[TableFinding] = []
    for span, pcs in by_function.items():
        one = _OneFunction(
            image, table, chosen(image, span.start).convention, span, pcs, masks, true, sizes, words, evidence, advises
        )
        try:
            found += list(one.findings())
        except Exception as error:
            if failures is None or not is_internal(error):
                raise
            failures[span.name or f"{span.start:#x}"] = internal_words(error)
            with suppress(Exception):  # what is wrong is told, also where nothing can be advised
                found += list(replace(one, advises=False).findings())
    return tuple(sorted(found, key=lambda finding: (finding.pc, finding.kind.value)))


def half_cfas(table: RowTable, image: Image, sizes: Mapping[int, int], words: CodeWords) -> Iterator[TableFinding]:
    """Half of a CFA behind one by an expression, a finding each; the rows are tried as libgcc and gdb have them."""
    for row in (each for each in table.rows if each.half_cfa):
        span = span_at(image, row.start)
        pcs = sorted(pc for pc in sizes if span.start <= pc < span.end)
        if not pcs:  # a function that was not asked for
            continue
        source = FunctionSource(words, image.arch, span.name, pcs, span.end, sizes)
        said = [each.place for each in source.around(row.start).directives if each.text.startswith(_HALVES)]
        yield TableFinding(
            kind=FindingKind.HALF_CFA,
            table=table.source,
            function=span.name,
            things=(WrongThing(THE_CFA, f"CFA = {cfa_words(row.cfa)}", _HALF_CFA.format(row.half_cfa)),),
            evidence=HowKnown.STATIC,
            instructions=sum(row.start <= pc < row.end for pc in pcs),
            place=said[-1] if said else None,
            **words.named(row.start),
        )


def unreadable(table: str, why: UnwindError) -> TableFinding:
    """A table of which nothing can be read."""
    thing = WrongThing("row", "nothing that can be read", str(why))
    return TableFinding(FindingKind.UNREADABLE, table, "", 0, "", "", (thing,), HowKnown.STATIC, 0)


@dataclass(frozen=True, eq=False)
class _OneFunction:
    """What is known of one function, and how to say it."""

    image: Image
    table: RowTable
    convention: Convention
    span: CodeSpan
    pcs: Sequence[int]
    masks: Mapping[int, int]
    true: Mapping[int, ObservedRow]
    sizes: Mapping[int, int]
    words: CodeWords
    evidence: Callable[[int], HowKnown]
    advises: bool

    @property
    def arch(self) -> Arch:
        return self.convention.arch

    @cached_property
    def source(self) -> FunctionSource:
        return FunctionSource(self.words, self.arch, self.span.name, self.pcs, self.span.end, self.sizes)

    def findings(self) -> Iterator[TableFinding]:
        bare = [pc for pc in self.pcs if self.masks[pc] == NO_ROW]
        without = [pc for pc in bare if not isinstance(self.table.stop_at(pc), CannotUnwind)]
        unreadable = [pc for pc in self.pcs if self.masks[pc] == UNREADABLE]
        yield from self._without_row(without)
        yield from self._cannot(sorted({*bare} - {*without}))
        if unreadable:
            why = str(self.table.stop_at(unreadable[0]))
            thing = WrongThing("row", "nothing that can be read", why)
            seen = no_row(self.words.where(unreadable[0]))
            yield self._finding(FindingKind.UNREADABLE, unreadable, (thing,), None, seen)
        spans = state_spans(self.table, self.span.start, max(self.span.end, self.pcs[-1] + 1), self.convention)
        tried, at = [], 0
        for pc in self.pcs:
            if self.masks[pc] in (NO_ROW, UNREADABLE):
                continue
            while at < len(spans) and spans[at].end <= pc:
                at += 1
            # The row of a call is the one at its last byte: an entry may begin there.
            if at < len(spans) and spans[at].start <= pc + max(self.sizes[pc] - 1, 0):
                tried.append(TriedPc(pc, self.sizes[pc], at, self.masks[pc], self.true[pc]))
        standing = {pc: tuple(self.source.standing_at(pc)) for pc in self.pcs} if self.advises else {}
        registers_said = {pc: d for pc, its in standing.items() for d in its if d.startswith(CFA_REGISTERS)}
        restored = frozenset(pc for pc, its in standing.items() if RESTORE_STATE in its)
        counted = frozenset(pc for pc, its in standing.items() if any(each.startswith(_COUNTED) for each in its))
        named = {pc: parts_named(its) for pc, its in standing.items()}
        calls = frozenset(scan(self.image, self.span.start, self.span.end).calls if self.advises else ())
        function = TriedFunction(
            self.convention,
            tried,
            spans,
            registers_said,
            restored,
            counted,
            named,
            calls,
            frozenset({*self.source.instructions} - {*self.pcs}),
        )
        if self.advises and (entered := entered_otherwise(function, self.span.start, self.image)):
            wrong = [each.pc for i, each in enumerate(function.tried) if function.wrong(i)]
            yield self._finding(FindingKind.OTHER_ENTRY, wrong, (entered,), None)
            return
        before = list(function.states)
        if self.table.source in _OF_SAVES and (frame := frame_repair(function)):
            i = next(i for i, each in enumerate(tried) if each.pc == frame.pcs[0])
            things = tuple(self._thing(function, i, thing, before[i]) for thing in frame.things)
            seen = self._seen(function, frame.pcs, frame.things, before)
            advised = Repair(frame.directives, "", len(frame.pcs), (), frame.replaced, f"behind `{frame.after}`")
            edits, no_patch = self.source.frame_patch(frame.pcs[0], advised)
            repair, _ = self._confirmed(function, before, replace(advised, edits=edits, no_patch=no_patch))
            told = self._finding(FindingKind.WRONG_ROW, frame.pcs, things, repair, seen)
            yield told if repair else replace(told, no_repair=_NOT_WRITTEN_SO)
        for cause, repair, found in self._told(function, before):
            i = next(i for i, each in enumerate(tried) if each.pc == cause.pc)
            things = tuple(self._thing(function, i, thing, before[i]) for thing in cause.things)
            also = {register_of(each) for each in cause.directives if each.startswith(OF_REGISTERS)}
            seen = self._seen(function, cause.all_pcs, {*cause.things, *also}, before)
            told = self._finding(FindingKind.WRONG_ROW, cause.all_pcs, things, repair, seen)
            is_known = all(function.is_known(i, thing) for thing in cause.things)
            why = _NOT_WRITTEN_SO if found else _NOT_WHERE_IT_REACHES if is_known else ""
            yield told if repair else replace(told, no_repair=why)

    def _told(
        self, function: TriedFunction, before: Sequence[FrameState]
    ) -> Iterator[tuple[Cause, Repair | None, bool]]:
        """The causes, each with its repair, and whether its rows had one. What a correction further up makes right as
        well has its cause.
        """
        wrong = {each.pc: function.wrong(i, before[i]) for i, each in enumerate(function.tried)}
        causes: list[Cause] = []
        told: list[tuple[Repair | None, MadeRight]] = []
        found: list[Repair | None] = []
        for cause in find_causes(function):
            its = {(pc, thing) for pc in cause.all_pcs for thing in wrong[pc] & {*cause.things}}
            k = next((k for k, (_, right) in enumerate(told) if its and its <= right), None)
            if k is None:
                repair = Advisor(self.table, function, self.source).repair(cause) if self.advises else None
                told.append(self._confirmed(function, before, repair, told, its))
                causes.append(cause)
                found.append(repair)
            else:
                causes[k] = replace(causes[k], pcs=tuple(sorted({*causes[k].pcs, *cause.all_pcs})))
        # Several that count from one another are right together only.
        every = [repair or one for (repair, _), one in zip(told, found, strict=True)]
        failed = any(one and not repair for (repair, _), one in zip(told, found, strict=True))
        right = self._right_together(function, before, every) if failed and len(every) > 1 else frozenset()
        for cause, (repair, _), one in zip(causes, told, found, strict=True):
            mine = {pc for pc in cause.all_pcs for thing in cause.things if (pc, thing) in right}
            if one and not repair and mine:
                repair = replace(one, repaired=len(mine), why="; ".join(filter(None, (one.why, ALL_TOGETHER))))
            yield cause, repair, one is not None

    def _right_together(
        self, function: TriedFunction, before: Sequence[FrameState], repairs: Sequence[Repair | None]
    ) -> MadeRight:
        """What all repairs of a function make right as one text; nothing where they make something wrong."""
        tried, trial = self.words.tried, TextTrial(self.table.source, function, before)
        edits = [edit for each in repairs if each for edit in each.edits]
        return tried.made_right(edits, trial) if tried and tried.tries(edits) else frozenset()

    def _confirmed(
        self,
        function: TriedFunction,
        before: Sequence[FrameState],
        repair: Repair | None,
        told: ToldRepairs = (),
        its: Collection[tuple[int, str]] = (),
    ) -> tuple[Repair | None, MadeRight]:
        """A repair as the text of its source was tried; ``its`` are what a line that is moved has to make right."""
        tried, trial = self.words.tried, TextTrial(self.table.source, function, before, told)
        found: tuple[Repair | None, MadeRight] = repair, frozenset()
        if tried is None or not (repair or function.is_early(its)):
            return found
        if repair and tried.tries(repair.edits):
            found = tried.confirmed(repair, trial)
        edits = found[0].edits if found[0] else ()
        pcs = sorted({pc for pc, _ in its})
        is_gone = bool(edits) and not any(each.new for each in edits)
        if not its or (edits and only_moves(edits)) or (is_gone and len(pcs) > _A_LITTLE):
            return found
        returns = any(each.true.returns for each in function.tried if each.pc == pcs[-1])
        moves = self.source.moves(pcs, returns=returns)
        kept = frozenset[int]() if repair else function.untried  # else a word of its author's would be taken back
        return tried.moved(repair or Repair((), "", 0), moves, frozenset(its), replace(trial, kept=kept)) or found

    def _seen(
        self, function: TriedFunction, pcs: Sequence[int], things: Iterable[str], before: Sequence[FrameState]
    ) -> Consequence:
        """The heaviest consequence of one cause: of the states before any repair, in what was wrong there."""
        index = {each.pc: i for i, each in enumerate(function.tried)}
        wrong = {i: function.wrong(i, before[i]) for pc in pcs for i in (index[pc],)}
        told = {i: its & {*things} or its for i, its in wrong.items()}
        places = [(i, self.words.where(function.tried[i].pc)) for i in sorted(told, key=lambda i: -len(told[i]))]
        worse = worst(consequence_at(function, i, before[i], told[i], where) for i, where in places)
        gone = frozenset[str]().union(*told.values())
        alone = all(self._is_gone(function, i, its) for i, its in told.items())
        return replace(worse, gone=tuple(each for each in self.convention.preserved if each in gone) if alone else ())

    def _is_gone(self, function: TriedFunction, i: int, names: Collection[str]) -> bool:
        """Are these callee-saved registers of which the frame has no copy, and that no return is known to give back?"""
        places = function.tried[i].true.places
        known = [places[name] for name in names if name in self.convention.preserved and name in places]
        lost = len(known) == len({*names}) and all(place.vague or not place.kept for place in known)
        left = [each.true.places for each in function.tried if each.true.returns]
        return lost and all(not left or any(name in its and not its[name].in_place for its in left) for name in names)

    def _cannot(self, pcs: Sequence[int]) -> Iterator[TableFinding]:
        """Code that the table marks, by its author's word: of nobody's caller it says so rightly."""
        if pcs and any(self.true[pc].called for pc in pcs):
            thing, kind = WrongThing("row", "nothing", _NOTHING[True]), FindingKind.CANNOT_UNWIND
            seen = replace(no_row(self.words.where(pcs[0])), severity=SEVERITIES[kind])
            yield self._finding(kind, pcs, (thing,), None, seen)

    def _without_row(self, pcs: Sequence[int]) -> Iterator[TableFinding]:
        """Code that somebody calls and code that nobody calls, apart."""
        bare = len(pcs) == len(self.pcs)
        called = any(self.true[pc].called for pc in pcs)
        if pcs:
            kind = FindingKind.NO_ROW if called else FindingKind.START_WITHOUT_ROW
            first = (".cfi_startproc",) if called else (".cfi_startproc", f".cfi_undefined {self.arch.return_address}")
            repair = None
            if self.advises and self.table.source not in _LEAVES_OUT:
                right = sum(self._starts_right(pc) for pc in pcs)
                # Another entry may begin in it.
                until = min((row.start for row in self.table.rows if row.start > pcs[-1]), default=self.span.end)
                source = replace(self.source, end=min(until, self.span.end))
                end = LaterDirectives(source.place(source.end), (".cfi_endproc",))
                bare_start = tuple(each for each in source.said_at(pcs[0]) if each == _WITHOUT_CFA)
                later = () if bare_start else (end,)  # an entry is there
                ends = (SourceChange(source.end, each.directives) for each in later)
                patch = source.patch((SourceChange(pcs[0], first, bare_start), *ends))
                repair = Repair(first, "", right, later, bare_start, BEFORE_IT, *patch)
                is_whole = right == len(pcs) or any(
                    self.words.source(pc)[0] for pc in pcs
                )  # what is left is corrected in turn
                repair = repair if is_whole and self._starts_right(pcs[0]) else None
            elif bare and called and (frame := self._described(pcs)):
                end = LaterDirectives(self.source.place(self.span.end), (".fnend",))
                place = f"before {self.words.where(self.span.start)}"
                said = (".fnstart", *frame.directives)
                changes = (SourceChange(self.span.start, said), SourceChange(self.span.end, end.directives))
                repair = Repair(said, "", len(frame.pcs), (end,), (), place, *self.source.patch(changes))
            thing, seen = (
                WrongThing("row", "nothing", _NOTHING[called]),
                no_row(self.words.where(pcs[0])) if called else None,
            )
            found = self._finding(kind, pcs, (thing,), repair, seen)
            yield replace(found, bare=bare)

    def _described(self, pcs: Sequence[int]) -> FrameRepair | None:
        """The directives of a function of which its table of calls says nothing."""
        if self.table.source not in _OF_SAVES:
            return None
        return undescribed(
            self.convention, [TriedPc(pc, self.sizes[pc], 0, self.masks[pc], self.true[pc]) for pc in pcs]
        )

    def _starts_right(self, pc: int) -> bool:
        """Is what `.cfi_startproc` says true at an instruction?"""
        true, arch = self.true[pc], self.arch
        if not true.called:
            return True
        places = {name: place for name, place in true.places.items() if name in self.convention.preserved}
        own = true.places.get(arch.return_address)
        returns = own is not None and (own.in_place if arch.link else -arch.entry_cfa in own.offsets)
        return true.cfa.get(arch.sp) == arch.entry_cfa and returns and all(each.in_place for each in places.values())

    def _finding(
        self,
        kind: FindingKind,
        pcs: Sequence[int],
        things: tuple[WrongThing, ...],
        repair: Repair | None,
        consequence: Consequence | None = None,
    ) -> TableFinding:
        """A finding in the words of its source."""
        found = TableFinding(
            kind=kind,
            table=self.table.source,
            function=self.span.name,
            things=things,
            evidence=min((self.evidence(pc) for pc in pcs), key=list(HowKnown).index),
            instructions=len(pcs),
            repair=repair,
            consequence=consequence,
            **self.words.named(pcs[0]),
        )
        return self._as_written(found)

    def _as_written(self, finding: TableFinding) -> TableFinding:
        """A finding in the words of its source, with the place of what is to change."""
        sources, repair, seen = self.words.sources, finding.repair, finding.consequence
        own = self.source.around(finding.pc) if finding.source else Around()
        spelt = spelling(finding.source, sources, frozenset(self.arch.by_name)).of
        if repair is not None:
            later = tuple(replace(each, directives=tuple(map(spelt, each.directives))) for each in repair.later)
            repair = replace(repair, directives=tuple(map(spelt, repair.directives)), later=later)
        if repair is not None and self.table.source in _OF_SAVES and not repair.edits:
            edits, no_patch = self.source.frame_patch(finding.pc, repair)
            repair = replace(repair, edits=edits, no_patch=no_patch)
        beside = own.own if finding.kind in _WITHOUT_ROWS or self.table.source in _OF_SAVES else own.before or own.own
        place = None if beside is None else beside.place
        if repair is not None and repair.edits:
            place = repair.edits[0].at
        return replace(
            finding,
            repair=repair,
            line=finding.line if own.own is None else own.own.place.line,  # one that is written as data has none
            things=tuple(replace(each, says=spelt(each.says), true=spelt(each.true)) for each in finding.things),
            consequence=seen and replace(seen, what=spelt(seen.what), shown=_chain(seen.shown, spelt)),
            place=place,
            written="" if own.own is None else own.own.text,
        )

    def _thing(self, function: TriedFunction, i: int, thing: str, state: FrameState) -> WrongThing:
        """What the table says of a thing, and what is true of it."""
        true = function.tried[i].true
        if thing == THE_CFA:
            return WrongThing(thing, f"CFA = {cfa_words(cfa_of(state))}", self._true_cfa(true))
        if thing == THE_SIGNATURE:
            says = f"the return address is {'' if state.get(SIGNED) else 'not '}signed"
            if true.signed is None:
                return WrongThing(thing, says, f"and here it is{_NOT_BY_CFA if state.get(SIGNED) else _SOMETIMES}")
            return WrongThing(thing, says, f"and here it is{'' if true.signed else ' not'}")
        rule = function.rule(i, thing, state)
        says = f"{thing} is {rule_words(rule, thing)}"
        if not true.called:
            return WrongThing(thing, says, "and nobody called this function")
        if isinstance(rule, Undefined):
            return WrongThing(thing, f"{thing} is undefined, as if nobody had called", "and somebody did")
        if thing == function.return_address(i) and thing not in (self.arch.pc, self.arch.link):
            return WrongThing(thing, f"the return address is in the column of {thing}", _OTHER_COLUMN)
        return WrongThing(thing, says, self._true_place(true, thing))

    def _true_cfa(self, true: ObservedRow) -> str:
        arch = self.arch
        for base in (arch.sp, *arch.frame_pointers):
            if points_into(true, base, arch):
                return f"the true CFA is {base}{true.cfa[base]:+#x} here"
        if true.stack is None:
            return f"and no distance from {arch.sp} to the true CFA is a constant here"
        return f"the true CFA is {arch.sp}{true.stack:+#x} at the first visit, and at no fixed distance"

    def _true_place(self, true: ObservedRow, name: str) -> str:
        place = true.places.get(name)
        if place is not None and place.in_place:
            return f"{name} still has the caller's value"
        if place is not None and place.offsets:
            return f"the caller's {name} is at CFA{max(place.offsets):+#x}"
        if place is not None and place.registers:
            return f"the caller's {name} is in {min(place.registers, key=self.arch.index.__getitem__)}"
        if true.visits == 1:
            return f"the caller's {name} is at no known place"
        return f"the caller's {name} is in no one place at all {true.visits} visits"


def _chain(shown: str, spelt: Callable[[str], str]) -> str:
    """A stack whose words are spelt as in a source, but for the function's own name."""
    name, *others = shown.split(" < ")
    return " < ".join((name, *map(spelt, others)))


_HALVES = (f"{DEF_CFA_OFFSET} ", f"{ADJUST} ", f"{DEF_CFA_REGISTER} ")
_COUNTED = (f"{DEF_CFA_OFFSET} ", f"{DEF_CFA} ")
_A_LITTLE = 3  # instructions by which a line stands too early
_WITHOUT_CFA = ".cfi_startproc simple"
_HALF_CFA = "and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb {}"
_WITHOUT_ROWS = (FindingKind.NO_ROW, FindingKind.START_WITHOUT_ROW, FindingKind.CANNOT_UNWIND)
_OF_SAVES = [section for section, its in BY_SECTION.items() if its.directives is Directives.SAVES]
_LEAVES_OUT = [section for section, its in BY_SECTION.items() if its.leaves_out]  # that is no missing directive
_NOT_WRITTEN_SO = "directives were found, but written into the source they do not give right rows"
_NOT_WHERE_IT_REACHES = "what is true here is not so, or not known to be so, wherever a directive would reach"
_OTHER_COLUMN = "and what that has is not where it returns to"
_NOT_BY_CFA, _SOMETIMES = " not, or not with the CFA, which unwinders take", ", at some visits at least"
_NOTHING = {True: "and there is a caller to be found", False: "and nobody calls this code"}
