"""A function's instructions that were compared, with the states of its table in force, and what is wrong at each.

What a state says is held against what is true at *all* visits of an instruction. Rules of which only a trial says
whether they are right (expressions, registers that point elsewhere) keep the answer that the trial of the table gave;
a row that ends the stack was not tried further.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import inf

from testbed.arch import Arch
from testbed.checks.frame_states import CFA_PARTS, CFA_REGISTER, SIGNED, FrameState, StateSpan, cfa_of
from testbed.checks.native.codes import CFA, OUTERMOST, REGISTERS, RETURN_ADDRESS
from testbed.checks.source_directives import DEF_CFA_REGISTER
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import Convention

# Things that can be wrong, besides registers; the return address is named by its register.
THE_CFA, THE_SIGNATURE = "CFA", "signature"
_PARTS: Mapping[str, tuple[str, ...]] = {THE_CFA: CFA_PARTS, THE_SIGNATURE: (SIGNED,)}
_NO_REGISTERS = frozenset((*CFA_PARTS, SIGNED))


def parts_of(thing: str) -> tuple[str, ...]:
    """The parts of a state that a thing is made of."""
    return _PARTS.get(thing, (thing,))


def points_into(true: ObservedRow, base: str, arch: Arch) -> bool:
    """Can a CFA be counted from this register? From SP; from one that the function has made to point into its frame.

    Of a register that is not the caller's to keep nothing more is known.
    """
    if base == arch.sp or base not in true.cfa:
        return base in true.cfa
    place = true.places.get(base)
    if place is None and base in arch.frame_pointers:
        return False
    return (place is None or not place.in_place) and 0 <= true.cfa[base] <= (true.stack or 0)


@dataclass(frozen=True, slots=True)
class TriedPc:
    """One instruction that was compared: its row's place among the function's, what was wrong there, what is true."""

    pc: int
    size: int
    span: int
    mask: int
    true: ObservedRow


@dataclass(eq=False)
class TriedFunction:
    """Instructions in the order of their addresses. ``states`` are those in force: repairs change them.

    ``registers_said`` has what stands in the source before an instruction of the register that the CFA is counted from,
    ``named`` of which parts of a state something stands there, where it is known; before those ``restored`` stands
    `.cfi_restore_state`, before those ``counted`` how far away the CFA is. ``calls`` are its calls, ``untried`` what
    nobody compared.
    """

    convention: Convention
    tried: Sequence[TriedPc]
    spans: Sequence[StateSpan]
    registers_said: Mapping[int, str] = field(default_factory=dict)  # by pc: ".cfi_def_cfa_register %rsp"
    restored: frozenset[int] = frozenset()  # pcs
    counted: frozenset[int] = frozenset()  # pcs
    named: Mapping[int, frozenset[str] | None] = field(default_factory=dict)  # by pc
    calls: frozenset[int] = frozenset()  # pcs
    untried: frozenset[int] = frozenset()  # pcs
    states: list[FrameState] = field(init=False)

    def __post_init__(self) -> None:
        self.states = [self.spans[each.span].state for each in self.tried]

    @property
    def arch(self) -> Arch:
        return self.convention.arch

    def __len__(self) -> int:
        return len(self.tried)

    def row(self, i: int) -> UnwindRow:
        """The row that the table has for an instruction."""
        return self.spans[self.tried[i].span].row

    def return_address(self, i: int) -> str:
        return self.row(i).return_address

    def _passed(self, i: int) -> Sequence[StateSpan]:
        """The rows that begin between the instruction before and the end of this one."""
        return self.spans[self.tried[i - 1].span + 1 if i else 0 : self.tried[i].span + 1]

    def begins(self, i: int) -> bool:
        """Does another entry of the table begin between the instruction before and this one?"""
        return any(span.begins for span in self._passed(i))

    def sets(self, i: int) -> frozenset[str]:
        """The parts of a state that the table says anew there. A sign state is turned over, whatever it was."""
        return frozenset(part for span in self._passed(i) for part in span.sets if part != SIGNED)

    def tells_early(self, i: int, thing: str) -> bool:
        """Does the table say anew at an instruction where a register is, or was never told where it is not yet?"""
        return thing in self.sets(i) and thing in self.arch.index

    def saves_somewhere(self, i: int, name: str) -> bool:
        """Is a register saved in a slot that no constant says, till a return, or till the table tells of it anew?"""
        for j in range(i, len(self)):
            if j > i and (self.begins(j) or name in self.sets(j) or self.tried[j - 1].true.returns):
                return False
            place = self.tried[j].true.places[name]
            if not place.in_place or (place.wanders and name not in self.given_back[j]):
                return place.in_place
        return False

    def tells_no_return(self, i: int, thing: str) -> bool:
        """Are other registers the caller's again there, or up to the next return, of which the table does not say it?

        The slots still have their values: many compilers leave it out. Then no register's return is forgotten.
        """
        for k in range(i, len(self)):
            if any(isinstance(self.states[k].get(each), Offset) for each in self.given_back[k] - {thing}):
                return True
            if self.tried[k].true.returns:
                break
        return False

    def comes_back(self, i: int) -> bool:
        """Does the source say further down, of the register that the CFA is counted from here, that it is so again?"""
        for j in range(i + 1, len(self)):
            if self.begins(j) or self.sets(j) & {CFA_REGISTER}:
                return False
            if self.tried[j].pc in self.registers_said:
                name, register = self.registers_said[self.tried[j].pc].split()[:2]
                return name == DEF_CFA_REGISTER and register.lstrip("%").lower() == self.states[i].get(CFA_REGISTER)
        return False

    def moves_freely(self, i: int) -> bool:
        """Is no distance of SP and frame pointers from the CFA a constant further down? An expression may say one."""
        if not isinstance(cfa_of(self.states[i]), RegisterPlus):
            return False
        last = max(self._free, default=-1)
        return i <= last and not any(self.begins(j) for j in range(i + 1, last + 1))

    @cached_property
    def _free(self) -> list[int]:
        bases = (self.arch.sp, *self.arch.frame_pointers)
        true = [each.true for each in self.tried]
        return [
            i for i, row in enumerate(true) if row.called and not any(points_into(row, b, self.arch) for b in bases)
        ]

    def takes_back(self, i: int, values: FrameState, fixed: int, last: int) -> bool:
        """Do ``values`` cancel what the table says at an instruction, also of code that nobody tried: there its author
        may mean it, but of the slot of another register. The last instruction that becomes right is ``fixed``, the last
        that they reach ``last``.
        """
        said = () if not i or self.begins(i) else self.sets(i) & values.keys()
        slots = {part: rule.offset for part in said if isinstance(rule := self.states[i].get(part), Offset)}
        meant = [part for part in said if part not in slots or not self.untold_at(i, slots[part])]
        behind = range(self.tried[fixed].pc + 1, self.spans[self.tried[last].span].end)
        return any(self.states[i - 1].get(part) == values[part] for part in meant) and any(
            map(behind.count, self.untried)
        )

    def untold_at(self, i: int, offset: int) -> list[str]:
        """The registers that lie at an offset from the CFA, and of which no save is told: a slot that is told of as
        another one's is meant of them."""
        places, state = self.tried[i].true.places, self.states[i]
        there = [each for each in self.convention.judged if each in places and offset in places[each].offsets]
        return [each for each in there if state.get(each) in (None, SameValue())]

    def is_early(self, its: Collection[tuple[int, str]]) -> bool:
        """Could all that is wrong at some pcs be right in code behind them that nobody tried: does the frame have no
        such register elsewhere?
        """
        places = (each.true.places.get(thing) for each in self.tried for pc, thing in its if pc == each.pc)
        return bool(self.untried) and not any(place is not None and place.copied for place in places)

    def may_set(self, i: int) -> bool:
        """Does the table say something there that changes nothing? With other directives further up it may."""
        return self.named.get(self.tried[i].pc) != frozenset() and any(not span.sets for span in self._passed(i))

    def things(self, i: int, state: FrameState) -> Iterable[str]:
        """What a state claims anything of."""
        arch, row = self.arch, self.row(i)
        own = row.return_address
        left_out = {arch.pc, own, None if row.signal_frame else arch.link}
        said = [name for name in state if name in arch.by_name and name not in _NO_REGISTERS]
        registers = [name for name in dict.fromkeys((*self.convention.judged, *said)) if name not in left_out]
        return (THE_CFA, THE_SIGNATURE, own, *registers)

    def wrong(self, i: int, state: FrameState | None = None) -> frozenset[str]:
        """The things that a state says wrongly at an instruction; by default the one in force."""
        of = self.states[i] if state is None else state
        return frozenset(thing for thing in self.things(i, of) if self.is_wrong(i, thing, of))

    def is_wrong(self, i: int, thing: str, state: FrameState) -> bool:
        """Is this thing wrong at some visit of an instruction, if the state is the given one?"""
        true, own = self.tried[i].true, self.return_address(i)
        ends = isinstance(state.get(own), Undefined)
        if thing == own:
            if ends or not true.called:
                return ends != (not true.called)
            if own not in (self.arch.pc, self.arch.link):  # nobody watched where that register has it
                return true.called < true.visits or bool(self.tried[i].mask & RETURN_ADDRESS)
            return true.called < true.visits or self._is_wrong_rule(i, own, state)
        if ends or not true.called:  # of the outermost frame nothing else counts
            return False
        if thing == THE_CFA:
            return not self._is_right_cfa(i, state)
        if thing == THE_SIGNATURE:
            return true.signed is None or state.get(SIGNED) != true.signed
        place = true.places.get(thing)
        if place is not None and place.copied and not place.offsets and isinstance(state.get(thing), Offset):
            # No constant says how far its slot is from the CFA: where the row's is wrong, it may be right from there.
            return self._is_right_cfa(i, state) and self._is_wrong_rule(i, thing, state)
        return self._is_wrong_rule(i, thing, state)

    def _is_back(self, i: int, name: str, offset: int) -> bool:
        """Is a register the caller's again, in a function of which only its first row is told?

        The slot still has the value, until somebody writes there, and that may be a signal handler.
        """
        if self._is_told or name not in self.convention.judged:
            return False
        place = self.tried[i].true.places[name]
        return place.in_place and (self._is_given_up(i, offset) or (place.back and name in self.given_back[i]))

    def _is_unknown(self, i: int, name: str, offset: int) -> bool:
        """Is a register the caller's again, and was nothing asked of a slot, since it is below SP there?"""
        depth, place = self.tried[i].true.cfa.get(self.arch.sp), self.tried[i].true.places[name]
        is_far = depth is not None and offset < -depth - self.convention.red_zone
        is_asked = self.spans[self.tried[i].span].state.get(name) == Offset(offset)
        return is_far and not is_asked and place.in_place and self._is_given_up(i, offset)

    def _is_given_up(self, i: int, offset: int) -> bool:
        """Is a slot below SP now, and was not further up? One in the red zone always was."""
        depth = self.tried[i].true.cfa.get(self.arch.sp)
        return depth is not None and -self._deepest[i] <= offset < -depth

    @cached_property
    def _deepest(self) -> Sequence[float]:
        """By instruction, the furthest that SP was from the CFA up to there; without end, once that is no constant."""
        return [*accumulate((each.true.cfa.get(self.arch.sp, inf) for each in self.tried), max)]

    def is_below(self, i: int, name: str, state: FrameState) -> bool:
        """Does a state say a slot below SP, where the register has the caller's value again? It is anybody's there."""
        rule, place = state.get(name), self.tried[i].true.places.get(name)
        is_slot = isinstance(rule, Offset) and self._is_given_up(i, rule.offset)
        return is_slot and place is not None and place.in_place

    def is_slot(self, i: int, name: str, offset: int) -> bool:
        """Is that a place of a register, and not below SP and its red zone, where a signal handler may write? Where SP
        was moved by no constant, and was seen at one distance only, what is saved before that is in its place.
        """
        true = self.tried[i].true
        if (depth := true.cfa.get(self.arch.sp)) is not None:
            return offset >= -depth - self.convention.red_zone
        before = (each.true for each in self.tried[:i] if not each.true.sized and name in each.true.places)
        return not true.sized or any(offset in each.places[name].offsets for each in before)

    @cached_property
    def _is_told(self) -> bool:
        return any(self.sets(i) for i in range(1, len(self)))

    @cached_property
    def given_back(self) -> Sequence[frozenset[str]]:
        """By instruction, the registers that were changed, and are the caller's from there to the next return."""
        there = [frozenset(name for name, its in each.true.places.items() if its.in_place) for each in self.tried]
        found, kept, changed = list[frozenset[str]](), frozenset[str](), frozenset[str]()
        for each, its in zip(reversed(self.tried), reversed(there), strict=True):
            kept = its if each.true.returns else kept & its
            found.append(kept)
        found.reverse()
        for i, each in enumerate(self.tried):
            changed |= each.true.places.keys() - there[i]
            found[i] &= changed
        return found

    def is_known(self, i: int, thing: str) -> bool:
        """Is one thing true at all visits of an instruction, that a directive could say if it were so further down?"""
        true = self.tried[i].true
        if thing == THE_CFA:
            return any(points_into(true, base, self.arch) for base in (self.arch.sp, *self.arch.frame_pointers))
        if thing == self.return_address(i) and thing not in (self.arch.pc, self.arch.link):
            return False
        place = true.places.get(thing)
        return place is not None and (place.in_place or (bool(place.offsets or place.registers) and not place.vague))

    def _is_right_cfa(self, i: int, state: FrameState) -> bool:
        cfa, each = cfa_of(state), self.tried[i]
        if isinstance(cfa, RegisterPlus) and (cfa.register != self.arch.sp or cfa.register in each.true.cfa):
            return each.true.cfa.get(cfa.register) == cfa.offset
        return cfa is None or (cfa == cfa_of(self.spans[each.span].state) and not each.mask & (CFA | OUTERMOST))

    def rule(self, i: int, name: str, state: FrameState) -> Rule | None:
        """The rule of a register; the convention's where the state has none."""
        rule = state.get(name)
        if rule is None and (name in self.convention.judged or name == self.arch.link):
            return SameValue()
        return rule if not isinstance(rule, str | int) else None

    def _is_wrong_rule(self, i: int, name: str, state: FrameState) -> bool:
        each, rule = self.tried[i], self.rule(i, name, state)
        is_return = name == self.return_address(i)
        if rule is None or isinstance(rule, Undefined):
            return is_return
        place = each.true.places.get(name)
        if place is not None and isinstance(rule, SameValue):
            return not place.in_place
        if place is not None and isinstance(rule, Offset):
            is_there = rule.offset in place.offsets or self._is_unknown(i, name, rule.offset)
            return not is_there or self._is_back(i, name, rule.offset)
        if (
            place is not None
            and isinstance(rule, RegisterPlus)
            and not rule.offset
            and rule.register in place.registers
        ):
            return False
        bit = RETURN_ADDRESS if is_return else 1 << REGISTERS + self.arch.index[name]
        return rule != self.rule(i, name, self.spans[each.span].state) or bool(each.mask & (bit | OUTERMOST))
