"""What one cause is told as: directives and their places in words, and the edits of the source that say the same.

Advice comes from a table, which has what directives add up to; here it meets the source. What stands there already is
corrected or left out, what would count from it is said anew, and a save is told behind the instruction that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from testbed.checks.adjustments import counted_from
from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, FrameState, state_of
from testbed.checks.function_source import FunctionSource
from testbed.checks.model import BEFORE_IT, LaterDirectives, Repair
from testbed.checks.repair import Cause
from testbed.checks.source_directives import (
    ADJUST,
    DEF_CFA,
    DEF_CFA_OFFSET,
    DEF_CFA_REGISTER,
    OF_REGISTERS,
    REL_OFFSET,
    REMEMBER_STATE,
    RESTORE,
    RESTORE_STATE,
    is_instead,
    is_said,
    parts_of_directive,
    register_of,
    value_of,
    written_anew,
)
from testbed.checks.source_edits import SourceChange
from testbed.checks.tried_function import THE_CFA, TriedFunction
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import Offset, RegisterPlus, RowTable, SameValue

# A directive further down that counts from one that is advised: `.cfi_adjust_cfa_offset`, which adds to what stands.
#
# Where an offset of the CFA is said anew, each such directive behind it would be off by as much as the offset was. So
# the first one is to say the offset itself; what comes behind that is as before.

_ABSOLUTE = (f"{DEF_CFA_OFFSET} ", f"{DEF_CFA} ", RESTORE_STATE)  # how directives begin that count from no other
_OF_THE_CFA = (*_ABSOLUTE, f"{ADJUST} ")


def recounted(
    cause: Cause, standing: Iterable[tuple[int, Mapping[str, str]]], table: RowTable, true: Mapping[int, ObservedRow]
) -> tuple[int, str, str] | None:
    """The first later directive that the advice would throw off: its place, its new text, its text now; or None.

    None, too, where its row is wrong now: that has advice of its own.

    ``standing`` are the directives before each instruction behind the cause's, in order, each to as it is written.
    """
    found = _first(cause, standing)
    row = None if found is None else table.at(found[0])
    if found is None or row is None or not isinstance(row.cfa, RegisterPlus):
        return None
    pc, written = found
    if true[pc].cfa.get(row.cfa.register) != row.cfa.offset:
        return None
    return pc, f"{DEF_CFA_OFFSET} {row.cfa.offset:#x}", written


def _first(cause: Cause, standing: Iterable[tuple[int, Mapping[str, str]]]) -> tuple[int, str] | None:
    """An adjustment that is advised makes those right that are among the cause's own instructions."""
    said = [each for each in cause.directives if each.startswith(_OF_THE_CFA)]
    if THE_CFA not in cause.things or not said:
        return None
    adjusts = said[0].startswith(ADJUST)
    ends = [each.pc for each in cause.closings if any(its.startswith(_OF_THE_CFA) for its in each.directives)]
    for pc, directives in standing:
        if ends and pc >= min(ends):
            return None
        for named, written in directives.items():
            if named.startswith(_ABSOLUTE):
                return None
            if named.startswith(ADJUST) and not (adjusts and pc in cause.pcs):
                return pc, written
    return None


def _without(cause: Cause, registers: Collection[str]) -> Cause:
    """A cause whose end does not give some registers back: its author said of one what he meant of another."""
    back = {f"{RESTORE} {each}" for each in registers}
    ends = (
        replace(end, directives=tuple(each for each in end.directives if each not in back)) for end in cause.closings
    )
    return replace(cause, closings=tuple(end for end in ends if end.directives))


# LLVM's count it from an offset that was taken back: docs/reports/llvm-mc-restore-state.md.
_DIFFER = "assemblers do not agree on what an adjustment behind `.cfi_restore_state` is counted from"
_OFFSET = ".cfi_offset"
_CFA_SAID = (DEF_CFA_OFFSET, ADJUST, DEF_CFA, DEF_CFA_REGISTER, RESTORE_STATE)


@dataclass(frozen=True, eq=False)
class Advisor:
    """Says what is to be done about causes in one function, whose repairs have all been applied to its states."""

    table: RowTable
    function: TriedFunction
    source: FunctionSource

    def repair(self, cause: Cause) -> Repair | None:
        """The repair of one cause; None where nothing helps."""
        if not cause.directives:
            return self._taken_back(cause)
        whole = self._repair(cause)
        for each in cause.again:
            more = self._repair(each)
            later = LaterDirectives(self.source.words.where(each.pc), more.directives)
            edits = (*whole.edits, *more.edits) if whole.edits and more.edits else ()
            whole = replace(
                whole,
                repaired=len(cause.all_pcs),
                later=(*whole.later, later, *more.later),
                edits=edits,
                no_patch=whole.no_patch or more.no_patch,
                why=whole.why or more.why,
            )
        return whole

    def _taken_back(self, cause: Cause) -> Repair | None:
        """The repair of what was right before a directive that stands there, and that none can say: it was meant of
        another register."""
        source, pc, tried = self.source, cause.pc, self.source.words.tried
        stands = {each: written for each, written in source.standing_at(pc).items() if each.startswith(OF_REGISTERS)}
        said = [each for each in stands if register_of(each) in cause.things]
        if len(said) != 1 or tried is None:
            return None
        if (meant := self._of_another(pc, said[0], is_right=False)) is None:
            return None
        edits, _ = source.patch([SourceChange(pc, (meant,), (stands[said[0]],))])
        return Repair((), "", len(cause.pcs), edits=edits) if tried.tries(edits) else None

    def _repair(self, cause: Cause) -> Repair:
        source, first = self.source, cause.remembered
        remembered = "" if first is None else source.words.where(first)
        later = tuple(LaterDirectives(source.place(source.next(each.pc)), each.directives) for each in cause.closings)
        place = BEFORE_IT if cause.replaced is None else f"before {source.words.where(cause.replaced[0])}"
        edits, no_patch = source.patch(self._changes(cause))
        adjusted = self._is_restored(cause.pc) and any(each.old.startswith(f"{ADJUST} ") for each in edits)
        why = _DIFFER if adjusted else ""
        return Repair(cause.directives, remembered, len(cause.pcs), later, (), place, edits, no_patch, why)

    def _changes(self, cause: Cause) -> Iterator[SourceChange]:
        """What is to change in the source: what is wrong first, then what comes of that further up and down."""
        source, pc = self.source, cause.pc
        standing = source.standing_at(pc)
        if cause.replaced is not None:
            behind, wrong = cause.replaced
            yield SourceChange(behind, cause.directives, (source.standing_at(behind).get(wrong, wrong),))
            return
        true = {each.pc: each.true for each in self.function.tried}
        rows = {at: self.table.at(at) for at in source.pcs if at >= pc}
        if cause.remembered is not None and RESTORE_STATE in standing:
            yield from self._remembered_elsewhere(pc, cause.remembered)
            return
        if relative := counted_from(cause.directives, list(standing), rows, true):
            ahead = list(standing)[: list(standing).index(relative[1])]
            said, replaced = written_anew(relative[0], ahead, self._said_before(pc))
            change = self._change(pc, said, tuple(standing[each] for each in replaced), standing)
            yield change if replaced else replace(change, before=standing[relative[1]])
        else:
            said, replaced = written_anew(cause.directives, list(standing), self._said_before(pc))
            if len(replaced) == 1 and (meant := self._of_another(pc, replaced[0])):
                said = (*(each for each in said if not is_instead(each, replaced[0])), meant)
                cause = _without(cause, {register_of(replaced[0]), register_of(meant)})
            saved = {register_of(each) for each in said if each.startswith(f"{_OFFSET} ")}
            if (others := {register_of(each) for each in replaced if each.startswith(OF_REGISTERS)}) - saved == others:
                cause = _without(cause, saved if others else ())
            said = self._said_itself(pc, said)
            yield from self._told_early(pc, said, tuple(standing[each] for each in replaced), standing)
            if not cause.closings:
                yield from self._said_again(pc, said)
        if cause.remembered is not None and not self._is_free(cause.remembered):
            yield SourceChange(cause.remembered, (REMEMBER_STATE,), first=True)
        yield from self._ends(cause)
        behind_it = ((at, source.standing_at(at)) for at in source.pcs if at > pc)
        if again := recounted(cause, behind_it, self.table, true):
            yield self._change(again[0], again[1:2], again[2:], source.standing_at(again[0]))

    def _is_free(self, pc: int) -> bool:
        """Is a state remembered before an instruction to which nothing goes back yet? Each is gone back to once."""
        said = [each for at in self.source.pcs for each in self.source.standing_at(at)]
        is_there = REMEMBER_STATE in self.source.standing_at(pc)
        return is_there and said.count(REMEMBER_STATE) > said.count(RESTORE_STATE)

    def _remembered_elsewhere(self, pc: int, remembered: int) -> Iterator[SourceChange]:
        """What a `.cfi_restore_state` that stands there goes back to, remembered before all that changes the state."""
        yield SourceChange(remembered, (REMEMBER_STATE,), first=True)
        for at in (each for each in reversed(self.source.instructions) if each < pc):
            if written := self.source.standing_at(at).get(REMEMBER_STATE):
                yield SourceChange(at, (), (written,))
                return

    def _ends(self, cause: Cause) -> Iterator[SourceChange]:
        """What gives the old state back, as far as the source does not say it."""
        source = self.source
        for each in cause.closings:
            pc = source.next(each.pc)
            stands = source.standing_at(pc)
            if RESTORE_STATE in stands and (since := self._remembered_for(pc)) is not None and since < cause.pc:
                continue
            unsaid = (one for one in each.directives if not is_said(one, list(stands)))
            kept = tuple(one for one in unsaid if not self._given_back(one, cause.pc, max(pc, each.until + 1)))
            if left := self._said_itself(pc, kept):
                said, replaced = written_anew(left, list(stands), self._said_before(pc))
                yield from self._told_early(pc, said, tuple(stands[one] for one in replaced), stands, cause.pc)

    def _remembered_for(self, pc: int) -> int | None:
        """Where the state is remembered that a `.cfi_restore_state` before an instruction gives back."""
        within = 1
        for at in (each for each in reversed(self.source.pcs) if each < pc):
            for said in reversed(self.source.standing_at(at)):
                within += (said == RESTORE_STATE) - (said == REMEMBER_STATE)
                if not within:
                    return at
        return None

    def _said_itself(self, pc: int, said: tuple[str, ...]) -> tuple[str, ...]:
        """Directives, where the assemblers do not agree what an adjustment is counted from: the offset itself."""
        behind = next(
            (each for each, tried in zip(self.function.states, self.function.tried, strict=True) if tried.pc >= pc), {}
        )
        offset = behind.get(CFA_OFFSET)
        if not isinstance(offset, int) or not self._is_restored(pc):
            return said
        return tuple(f"{DEF_CFA_OFFSET} {offset:#x}" if each.startswith(f"{ADJUST} ") else each for each in said)

    def _is_restored(self, pc: int) -> bool:
        """Is the last that the source says of the CFA's offset as such, up to an instruction, a state restored?"""
        for at in (each for each in reversed(self.source.instructions) if each <= pc):
            said = [each for each in self.source.standing_at(at) if each.startswith(_ABSOLUTE)]
            if said:
                return said[-1] == RESTORE_STATE
        return False

    def _said_before(self, pc: int) -> Mapping[str, int | str | None]:
        """What the row of the instruction before is to say of registers: slots, None where they are the caller's; and
        from which the CFA is counted."""
        function, behind = self.function, self._state_before(pc)
        state = {} if behind is None else behind
        rules = {each.name: state.get(each.name) for each in function.arch.registers}
        told = {name: rule for name, rule in rules.items() if rule is None or isinstance(rule, Offset | SameValue)}
        slots = {name: rule.offset if isinstance(rule, Offset) else None for name, rule in told.items()}
        base = function.arch.sp if behind is None else state.get(CFA_REGISTER)
        return {**slots, DEF_CFA_REGISTER: base if isinstance(base, str) else None}

    def _state_before(self, pc: int) -> FrameState | None:
        """The state of what stands before an instruction in its entry of the table; None where an entry begins."""
        function, own, last = self.function, self.table.at(pc), self.table.at(pc - 1)
        behind = next((i for i, each in enumerate(function.tried) if each.pc >= pc), len(function))
        if behind and not (behind < len(function) and function.begins(behind)):
            return function.states[behind - 1]
        is_within = own is not None and last is not None and own.found_by == last.found_by
        return state_of(last, function.convention) if is_within and last is not None else None

    def _of_another(self, pc: int, old: str, *, is_right: bool = True) -> str | None:
        """A directive that says of a register what is wrong, where what was said before it is right (``is_right``: and
        said again by now): the one that it was meant of, whose save or return is not told otherwise. None: there is
        none such, or several."""
        function, row = self.function, self.table.at(pc)
        i = next((i for i, each in enumerate(function.tried) if each.pc == pc), 0)
        if not old.startswith(OF_REGISTERS) or row is None or not i or function.begins(i):
            return None
        before, state, own = function.states[i - 1], function.states[i], register_of(old)
        if is_right and before.get(own) != state.get(own):
            return None
        judged, wrong = function.convention.judged, row.registers.get(own)
        if isinstance(wrong, Offset):
            found = [f"{_OFFSET} {each}, {wrong.offset:#x}" for each in function.untold_at(i, wrong.offset)]
        else:
            was = function.tried[i - 1].true.places
            told = (None, SameValue())
            there = [each for each in function.given_back[i] if state.get(each) not in told and each in judged]
            back = [each for each in there if not was[each].in_place]
            back = back or self.source.loaded_before(pc, [each for each in judged if state.get(each) not in told])
            found = [f"{RESTORE} {each}" for each in back or there if back or not self._is_told_back(i, each)]
        return found[0] if len(found) == 1 else None

    def _is_told_back(self, i: int, name: str) -> bool:
        """Does the table say of a register, from an instruction to the next return, that it is the caller's again?"""
        for k in range(i, len(self.function)):
            if self.function.spans[self.function.tried[k].span].state.get(name) in (None, SameValue()):
                return True
            if self.function.tried[k].true.returns or self.function.begins(min(k + 1, len(self.function) - 1)):
                break
        return False

    def _change(
        self, pc: int, said: Sequence[str], replaced: tuple[str, ...], standing: Mapping[str, str]
    ) -> SourceChange:
        """A change with the CFA's offsets around it; the one before is unknown where a directive stands in between."""
        function = self.function
        behind = next((i for i, each in enumerate(function.tried) if each.pc >= pc), len(function))
        left = self.source.said_at(pc)[::-1]
        for named in (name for name, written in standing.items() if written in replaced):
            left.remove(named)  # the last of those that say the same
        others = [each for each in reversed(left) if each.startswith(_CFA_SAID)]
        adjusted = [value_of(each.partition(" ")[2]) for each in others if each.startswith(f"{ADJUST} ")]
        old: object = None
        if others and others[-1].startswith(f"{DEF_CFA_OFFSET} "):
            old = value_of(others[-1].partition(" ")[2])
        elif len(adjusted) == len(others):
            state = self._state_before(pc)
            old = function.arch.entry_cfa if state is None else state.get(CFA_OFFSET)
            row = self.table.at(pc - 1)
            untried = bool(behind and state) and any(
                function.tried[behind - 1].pc < each < pc for each in self.source.instructions
            )
            if untried and row is not None and isinstance(row.cfa, RegisterPlus):
                old = row.cfa.offset
            numbers = [each for each in (old, *adjusted) if isinstance(each, int)]
            old = sum(numbers) if len(numbers) == 1 + len(adjusted) else None
        new: object = function.states[behind].get(CFA_OFFSET) if behind < len(function) else None
        offsets = (old if isinstance(old, int) else None, new if isinstance(new, int) else None)
        offsets = (None, None) if self._is_restored(pc) else offsets
        return SourceChange(pc, tuple(said), replaced, offsets=offsets)

    def _given_back(self, directive: str, start: int, end: int) -> bool:
        """Whether the source gives a register back between two instructions, so that it need not be said again."""
        between = (pc for pc in self.source.instructions if start < pc < end and directive.startswith(f"{RESTORE} "))
        return any(is_said(directive, list(self.source.standing_at(pc))) for pc in between)

    def _said_again(self, pc: int, said: Sequence[str]) -> Iterator[SourceChange]:
        """What says further down the offset that is said now: it was moved, and changes nothing any more."""
        for each in (each for each in said if each.startswith(f"{DEF_CFA_REGISTER} ")):
            behind = next((at for at in self.source.pcs if at > pc and at in self.function.registers_said), None)
            stands = self.source.standing_at(behind) if behind is not None else {}
            names = [name for name in stands if name.replace("%", "") == each]
            if behind is not None and names:
                yield SourceChange(behind, (), (stands[names[0]],))
        absolute = [each for each in said if each.startswith(f"{DEF_CFA_OFFSET} ")]
        for later in (each for each in self.source.pcs if each > pc) if absolute else ():
            standing = self.source.standing_at(later)
            of_cfa = [name for name in standing if name.startswith(_CFA_SAID)]
            if of_cfa:
                name, arguments = parts_of_directive(of_cfa[0])
                said_now, here = int(absolute[0].split()[1], 0), self.function.tried[self._index(later)]
                is_right = here.pc != later or said_now == here.true.cfa.get(self.function.arch.sp)
                if is_right and name == DEF_CFA_OFFSET and value_of(arguments[0]) == said_now:
                    yield SourceChange(later, (), (standing[of_cfa[0]],))
                return

    def _told_early(
        self, pc: int, said: Sequence[str], replaced: tuple[str, ...], standing: Mapping[str, str], since: int = 0
    ) -> Iterator[SourceChange]:
        """Directives at an instruction, but those of saves that were made before: each behind what made it, if that is
        behind ``since``."""
        left = list[str]()
        for each in said:
            name, arguments = parts_of_directive(each)
            early, idle = None, None
            if name == _OFFSET and not replaced:
                idle = self._said_twice(pc, arguments[0], int(arguments[1], 0))
                early = self._saved_from(pc, arguments[0], int(arguments[1], 0))
            elif name == RESTORE and not replaced:
                idle, early = self._idle(pc, arguments[0]), self._back_from(pc, arguments[0])
            elif name == DEF_CFA_REGISTER and not replaced:
                early = self._points_from(pc, arguments[0])
            if idle is not None:
                yield self._change(idle[0], (each,), idle[1:], self.source.standing_at(idle[0]))
            elif early is None or early == pc or early <= since:
                left.append(each)
            else:
                yield self._change(early, (each,), (), self.source.standing_at(early))
        if left or replaced:
            yield self._change(pc, left, replaced, standing)

    def _saved_from(self, pc: int, name: str, offset: int) -> int | None:
        """Where it is to be said that a register is in its slot: behind the save, or where its author says others."""
        function = self.function
        i = self._index(pc)
        first = self._holds_from(i, name, offset)
        restored = function.restored  # there they are told again
        told = {
            j: self._holds_from(j, other, rule.offset)
            for j in range(len(function))
            if function.tried[j].pc not in restored
            for other in function.sets(j) & {*function.convention.judged}
            for rule in (function.spans[function.tried[j].span].state.get(other),)
            if j
            and isinstance(rule, Offset)
            and not function.begins(j)
            and function.tried[j].pc not in function.restored
        }
        blocks = [j for j, since in told.items() if since < j and since <= i and first <= j <= i]
        start = min(blocks, default=first)
        is_told = function.states[start].get(name) == Offset(offset)  # for what is before: here it is told again
        return function.tried[i if is_told else start].pc

    def _points_from(self, pc: int, base: str) -> int:
        """Behind what made a register point into the frame, as far away as SP was said to be."""
        function, sp = self.function, self.function.arch.sp

        def points(k: int) -> bool:
            said = function.states[k]
            return said.get(CFA_REGISTER) == sp and function.tried[k].true.cfa.get(base) == said.get(CFA_OFFSET)

        return function.tried[self._since(self._index(pc), points)].pc

    def _said_twice(self, pc: int, name: str, offset: int) -> tuple[int, str] | None:
        """Where a slot is said to be another register's, of which another slot is said right behind."""
        for at in (each for each in self.source.instructions if each <= pc):
            every = self.source.said_at(at)
            for k, said in enumerate(every):
                others = [register_of(each) for each in every[k + 1 :] if each.startswith(OF_REGISTERS)]
                stands = said.startswith((f"{_OFFSET} ", f"{REL_OFFSET} ")) and register_of(said) in others
                slot = value_of(parts_of_directive(said)[1][1]) if stands and every.count(said) == 1 else ""
                depth = self.function.states[self._index(at)].get(CFA_OFFSET) if said.startswith(REL_OFFSET) else 0
                if isinstance(slot, int) and isinstance(depth, int) and slot - depth == offset:
                    return at, self.source.standing_at(at)[said]
        return None

    def _idle(self, pc: int, name: str) -> tuple[int, str] | None:
        """Where something stands that gives back a register which was back already, and this one is by then."""
        for at in (each for each in reversed(self.source.instructions) if each < pc):
            i = self._index(at)
            place = self.function.tried[i].true.places.get(name)
            if place is None or not place.back or self.function.begins(i):
                return None
            state = self._state_before(at) or {}
            every = self.source.said_at(at)
            for said, written in self.source.standing_at(at).items():
                other = register_of(said) if said.startswith(f"{RESTORE} ") else name
                is_back = state.get(other) is None and not (i and other in self.function.wrong(i - 1))
                if other != name and (is_back or every.count(said) > 1):
                    return at, written
        return None

    def _index(self, pc: int) -> int:
        return max((i for i, each in enumerate(self.function.tried) if each.pc <= pc), default=0)

    def _since(self, i: int, holds: Callable[[int], bool]) -> int:
        """The first instruction before one from which on something holds, without a break."""
        while i and not self.function.begins(i) and holds(i - 1):
            i -= 1
        return i

    def _back_from(self, pc: int, name: str) -> int:
        """Behind what gave a register back: its slot has its value still, but is below SP from there on."""
        function, sp = self.function, self.function.arch.sp

        def is_back(k: int) -> bool:
            true, rule = function.tried[k].true, function.spans[function.tried[k].span].state.get(name)
            place, depth = true.places.get(name), true.cfa.get(sp)
            below = isinstance(rule, Offset) and depth is not None and rule.offset < -depth
            return below and place is not None and place.in_place

        def is_next(k: int) -> bool:
            return bool(k) and function.tried[k - 1].pc + function.tried[k - 1].size == function.tried[k].pc

        i = first = self._index(pc)
        while is_next(first) and (place := function.tried[first - 1].true.places.get(name)) and place.back:
            first -= 1
        if not is_next(first):  # what is above was only read
            return self.source.given_back_above(pc, name)
        others = [
            (k, each)
            for k in range(first, i)
            for each in function.sets(k) & {*function.convention.judged} - {name}
            if function.spans[function.tried[k].span].state.get(each) in (None, SameValue())
        ]
        if others and all(not function.tried[k - 1].true.places[each].in_place for k, each in others):
            return function.tried[first].pc  # as he says it of others: behind what gave it back
        if len({k for k, _ in others}) == 1:  # of all in one place
            return function.tried[others[0][0]].pc
        return function.tried[self._since(i, is_back)].pc

    def _holds_from(self, i: int, name: str, offset: int) -> int:
        """The first instruction before one, without a break, at which a register's value is in a slot of the frame."""
        function = self.function

        def holds(k: int) -> bool:
            place = function.tried[k].true.places.get(name)
            return place is not None and offset in place.offsets

        since = i
        while i and not function.begins(i):
            if function.tried[i].pc in function.restored:
                # What a state is remembered of holds where it is restored.
                pcs = [each.pc for each in function.tried[:i]]
                kept = [k for k, pc in enumerate(pcs) if REMEMBER_STATE in self.source.standing_at(pc) and holds(k)]
                if not kept:
                    return i
                i = since = kept[-1]
            elif name in function.sets(i):  # what is said further up ends there
                return since
            elif not holds(i - 1):
                return i
            else:
                i -= 1
        return i
