"""The control flow of a function: the state before each instruction, whichever way control gets there.

States spread from the entry along all edges and are joined where they meet, until nothing changes any more. A join
only ever forgets, so this ends. Beyond plain edges:

* Two ways that do not belong together meet behind a call, SP at different places, or the caller's value of a register
  here or there: that call does not return (``abort``). The spreading starts again without its way on.
* A call to a place inside the function is a subroutine of its own: that place has the state of an entry. Where the
  subroutine loses its return address, the call was none (``pushes``), and the spreading starts again without it.
* Code that no way leads to, in a function with a jump whose targets the code does not say (a jump table), is where
  that jump goes: it begins in the state of the jump. Without such a jump, it is where exceptions land: in the state
  behind the calls; where they do not agree, in the first one that loses no value of the caller from there on. Against
  what is known from the entry, such a state never wins.
* A jump through a pointer with SP as at the entry is a tail call; constants and jump tables between the code are none.
  No way leads into a constant: the call in front of it does not return. Where one was followed, all starts again.
* Under a condition (A32, IT blocks) there are two states, kept apart until the flags change; a branch under the same
  condition takes one of them away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from heapq import heappop, heappush

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.words.errors import UnsupportedRule
from unwinders.analysis.abstract_machine import emulate, made_at_most, made_equal
from unwinders.analysis.abstract_state import (
    CFA,
    LANDED,
    AbstractState,
    AbstractValue,
    EntryValue,
    FunctionStates,
    Slot,
    StackAddress,
    entry_state,
    join,
)
from unwinders.analysis.called_functions import (
    called,
    come_back,
    comes_back,
    control_of,
    gives_signal_back,
    is_home,
    loses_return_address,
    popped,
    pushed,
)
from unwinders.analysis.function_code import LONGEST, FunctionCode
from unwinders.analysis.operations import Call, Control, Instruction, Jump, Return, SystemCall, Trap

# What is found out of a function when its states have spread already: they spread again, and it is known then.


class StartAgain(Exception):
    """What was found late changes what came before: the function is to be followed from its entry."""


@dataclass(eq=False)
class FoundLate:
    """``no_return``: calls that do not return; ``pushes``: calls that are none; ``constants``: between the code, where
    one begins -> its end, and the instruction that loads it."""

    no_return: set[int] = field(default_factory=set)
    pushes: set[int] = field(default_factory=set)
    constants: dict[int, tuple[int, int]] = field(default_factory=dict)

    def leave_out_nonsense(self) -> None:
        """Not constants are what a constant loads that was taken for an instruction."""
        spans = tuple((start, end) for start, (end, _) in self.constants.items())
        self.constants = {
            start: (end, by)
            for start, (end, by) in self.constants.items()
            if not any(low <= by < high for low, high in spans)
        }


# The states that have come somewhere so far, which of them are to go on, and what is taken back of a trial.
#
# A state *loses* a value of the caller where neither a register nor a slot has it any more. No function does so on a
# way on which it cleans up: it resumes the exception, or returns, and whoever called it gets its registers back. So
# where it is not known in which state code begins, one that leads to a loss is not the one.

Node = tuple[int, int]  # a pc, and the condition that is known to hold there (0: none)


class LosesValue(Exception):
    """A trial leads to where a value of the caller is lost."""


@dataclass(eq=False)
class SpreadStates:
    """The state at each place that control gets to; ``weak`` are places that it does not get to from the entry."""

    at: dict[Node, AbstractState] = field(default_factory=dict)
    weak: set[Node] = field(default_factory=set)
    work: list[Node] = field(default_factory=list)  # a heap: code that comes first is followed first
    waiting: set[Node] = field(default_factory=set)
    before: dict[Node, tuple[AbstractState | None, bool]] | None = None  # of what a trial changed: how it was

    @property
    def on_trial(self) -> bool:
        return self.before is not None

    def change(self, node: Node, state: AbstractState, *, weak: bool) -> None:
        """A place has another state, which goes on from there."""
        if self.before is not None:
            self.before.setdefault(node, (self.at.get(node), node in self.weak))
        self._set(node, state, weak=weak)
        if node not in self.waiting:
            self.waiting.add(node)
            heappush(self.work, node)

    def take(self) -> Node:
        """The place to go on from."""
        node = heappop(self.work)
        self.waiting.discard(node)
        return node

    def reached(self, pc: int) -> bool:
        return (pc, 0) in self.at or any((pc, holds) in self.at for holds in range(1, 15))

    def tried(self, spread: Callable[[], None]) -> bool:
        """Let states spread; False, and all is as before, where that loses a value of the caller."""
        self.before = {}
        try:
            spread()
        except LosesValue:
            for node, (state, weak) in self.before.items():
                self._set(node, state, weak=weak)
            self.work.clear()
            self.waiting.clear()
            return False
        finally:
            self.before = None
        return True

    def _set(self, node: Node, state: AbstractState | None, *, weak: bool) -> None:
        if state is None:
            del self.at[node]
        else:
            self.at[node] = state
        (self.weak.add if weak else self.weak.discard)(node)


def loses(arch: Arch, before: AbstractState, after: AbstractState, control: Control | None) -> bool:
    """True for an instruction that loses a value of the caller, and for a return without giving all of them back."""
    if isinstance(control, Return):
        return any(after.registers.get(name) != EntryValue(name) for name in platform(arch).preserved)
    lost = before.said() - after.said()
    return bool(lost) and not lost.isdisjoint((CFA, arch.return_address, *platform(arch).preserved))


# States of several ways beside each other: what is lost where two meet, and which one holds where exceptions land.


def left_out(arch: Arch, one: AbstractState, other: AbstractState, joined: AbstractState) -> bool:
    """True where either way says where the CFA or a value of the caller is, and both together do not.

    No function can give back a register of which that is so: it does not know either which way it came.
    """
    if joined.registers is one.registers and joined.slots is one.slots:
        return False
    lost = {CFA, arch.return_address, *platform(arch).preserved} - joined.said()
    return bool(lost) and not lost.isdisjoint(one.said() & other.said())


def landings(arch: Arch, behind_calls: tuple[AbstractState, ...]) -> list[list[AbstractState]]:
    """Where exceptions land, the likeliest answer first: in the states behind calls at which the same is saved.

    A function that saves registers on some of its ways only has saved them all before most calls that it has to clean
    up behind. Where calls differ in what is saved, and none has saved all of it, all of them are one answer.
    """
    groups: dict[frozenset[tuple[Slot, AbstractValue]], list[AbstractState]] = {}
    for state in behind_calls:
        groups.setdefault(_saved(state), []).append(state)
    order = sorted(groups, key=len, reverse=True)
    answers = [groups[saved] for saved in order]
    if not all(saved <= order[0] for saved in order):
        answers.insert(0, [*behind_calls])
    return [[_landed(arch, state) for state in answer] for answer in answers]


def _saved(state: AbstractState) -> frozenset[tuple[Slot, AbstractValue]]:
    """The slots with values of the caller."""
    return frozenset((slot, value) for slot, (_, value) in state.slots.items() if isinstance(value, EntryValue))


def _landed(arch: Arch, state: AbstractState) -> AbstractState:
    """The state in which exceptions of a call land, of which ``state`` is the one behind it.

    Arguments that the call pushed are off the stack: a frame pointer is surer than SP, which becomes a place of its
    own. Where both are one place, nothing was pushed.
    """
    pointers = [state.registers[name] for name in arch.frame_pointers if _is_frame_pointer(arch, state, name)]
    if not pointers or state.registers.get(arch.sp) in pointers:
        return state
    return AbstractState({**state.registers, arch.sp: StackAddress(LANDED, 0)}, state.slots)


def _is_frame_pointer(arch: Arch, state: AbstractState, name: str) -> bool:
    """True where the register points into the frame; to its saved self, where every compiler lays out records so."""
    value = state.registers.get(name)
    if not isinstance(value, StackAddress) or value.base != CFA:
        return False
    saved = state.slots.get((CFA, value.offset))
    return len(arch.frame_pointers) > 1 or (saved is not None and saved[1] == EntryValue(name))


# A function's code from end to end, whether control gets there or not: what no way leads to, and what comes last.


def unreached(code: FunctionCode, data: Mapping[int, int], reached: Callable[[int], bool]) -> Iterator[int]:
    """Places that no way leads to so far, in order; asked again after each answer. ``data``: start -> end."""
    for start, end in code.function.parts:
        for instruction in _instructions(code, start, end, data):
            if not instruction.idle and not reached(instruction.address):
                yield instruction.address


def called_last(code: FunctionCode, data: Mapping[int, int]) -> frozenset[int]:
    """The functions whose calls end this one: nothing but data lies behind that they could come back to."""
    found = set[int]()
    for start, end in code.function.parts:
        last = None
        for instruction in _instructions(code, start, end, data):
            last = last if instruction.idle else instruction.control
        if isinstance(last, Call) and last.target is not None:
            found.add(last.target)
    return frozenset(found)


def _instructions(code: FunctionCode, start: int, end: int, data: Mapping[int, int]) -> Iterator[Instruction]:
    pc = start
    while pc < end:
        if pc in data:
            pc = max(data[pc], pc + code.step)
            continue
        instruction = code.at(pc)
        if instruction is not None:
            yield instruction
        pc = instruction.end if instruction is not None else pc + code.step


MOST_PLACES = 100_000  # instructions of one function; half a megabyte of x86-64 code
MOST_STEPS = 400_000  # instructions emulated for one function, over and over
MOST_RESTARTS = 64

NOWHERE: frozenset[int] = frozenset()


def states_of(code: FunctionCode) -> FunctionStates:
    """The states before each instruction of a function.

    Raises UnsupportedRule for a function too large to be followed.
    """
    if code.function.size > MOST_PLACES * LONGEST:
        raise UnsupportedRule(f"{code.function.name} is too large to be followed")
    late, steps = FoundLate(), 0
    for _ in range(MOST_RESTARTS):
        spread = _Propagation(code, late, steps=steps)
        try:
            spread.all()
            break
        except StartAgain:
            steps = spread.steps
    out: dict[int, tuple[AbstractState, ...]] = {}
    for (pc, _), state in sorted(spread.states.at.items(), key=lambda item: item[0]):
        out[pc] = (*out.get(pc, ()), state)
    return FunctionStates(out, frozenset(spread.come_back))


@dataclass(eq=False)
class _Propagation:
    code: FunctionCode
    late: FoundLate
    states: SpreadStates = field(default_factory=SpreadStates)
    jumps: dict[int, AbstractState] = field(default_factory=dict)  # to targets that the code does not say
    calls: dict[int, tuple[AbstractState, bool]] = field(default_factory=dict)  # and whether it is weak
    inside: dict[Node, frozenset[int]] = field(default_factory=dict)  # a subroutine's places -> the calls of it
    current: frozenset[int] = NOWHERE  # of the place that is left
    behind_call: dict[int, int] = field(default_factory=dict)  # a pc behind a call, and alignment -> the call
    come_back: set[int] = field(default_factory=set)  # where calls made of two instructions do
    data: dict[int, int] = field(default_factory=dict)  # between the instructions: where it begins and ends
    never_back: frozenset[int] = NOWHERE  # functions that do not return
    steps: int = 0
    slots: int = 0  # of all states that came somewhere; those that one shares with the one before count once
    last_slots: object = None

    @property
    def arch(self) -> Arch:
        return self.code.image.arch

    def all(self) -> None:
        """Spread until all is known. Raises where a call turns out not to return, or to be none."""
        self.arrive((self.code.function.entry, 0), entry_state(self.arch), weak=False)
        self.run()
        self.never_back = called_last(self.code, self.data)
        for pc in unreached(self.code, self.data, self.states.reached):
            self.begin(pc)

    def begin(self, pc: int) -> None:
        """Spread from where no way leads to, in the first state that loses nothing of the caller, else in the first."""
        seeds = self.seeds(pc)
        if len(seeds) > 1 and any(self.states.tried(partial(self.spread, pc, seed)) for seed in seeds):
            return
        if seeds:
            self.spread(pc, seeds[0])

    def spread(self, pc: int, state: AbstractState) -> None:
        self.current = NOWHERE
        self.arrive((pc, 0), state, weak=True)
        self.run()

    def run(self) -> None:
        while self.states.work:
            self.count(1)
            node = self.states.take()
            instruction = self.code.at(node[0])
            self.current = self.inside.get(node, NOWHERE)
            if instruction is not None:
                self.execute(node, instruction)
        self.current = NOWHERE

    def count(self, steps: int) -> None:
        """What was done for this function; too much of it ends it. Raises UnsupportedRule."""
        self.steps += steps
        if self.steps > MOST_STEPS or len(self.states.at) > MOST_PLACES:
            raise UnsupportedRule(f"{self.code.function.name} is too large to be followed")

    def arrive(self, node: Node, state: AbstractState, *, weak: bool) -> None:
        """Control gets to a place in one more state."""
        if not self.code.function.covers(node[0]):
            return  # a tail call, or the end of the function
        if node[0] in self.late.constants:
            return
        old, is_weak = self.states.at.get(node), node in self.states.weak
        known = self.inside.get(node, NOWHERE)
        within = self.current | known if self.current and (known or old is None) else NOWHERE
        if within or known:
            self.inside[node] = within
        self.slots += len(state.slots) if state.slots is not self.last_slots else 0
        self.last_slots = state.slots
        self.code.spend_state(len(state.slots), self.slots)
        if old is None:
            self.states.change(node, state, weak=weak)
            return
        joined = join(old, state)
        if weak and not is_weak and (self.arch.sp not in joined.registers or old.said() - joined.said()):
            if self.states.on_trial and node[0] not in self.behind_call:
                raise LosesValue
            return
        stronger = not weak and is_weak
        if not stronger and (self.disagree(old, state) or left_out(self.arch, old, state, joined)):
            self.blame(node[0])
        if stronger:
            joined = state
        if joined != old or stronger or within != known:
            self.states.change(node, joined, weak=is_weak and not stronger)

    def blame(self, pc: int) -> None:
        """What meets here does not belong together: if one of them is behind a call, that call does not return."""
        if self.states.on_trial:
            raise LosesValue
        call = self.behind_call.get(pc)
        if call is not None and call not in self.late.no_return:
            self.late.no_return.add(call)
            raise StartAgain

    def disagree(self, one: AbstractState, other: AbstractState) -> bool:
        """True where SP lies at two known, different distances."""
        a, b = one.registers.get(self.arch.sp), other.registers.get(self.arch.sp)
        return isinstance(a, StackAddress) and isinstance(b, StackAddress) and a.base == b.base and a != b

    def execute(self, node: Node, instruction: Instruction) -> None:
        _, holds = node
        state, weak = self.states.at[node], node in self.states.weak
        condition, control = instruction.condition, instruction.control
        when = control.when if isinstance(control, Jump) else None  # where other instructions may have one, too
        if when is not None and holds == when.not_code:
            self.arrive((instruction.end, holds), state, weak=weak)  # a branch that is not taken
            return
        if condition is None:
            self.leave(instruction, state, 0 if instruction.sets_flags else holds, weak)
            return
        if holds != condition.not_code:
            self.leave(instruction, state, 0 if instruction.sets_flags else condition.code, weak)
        if holds != condition.code:
            self.arrive((instruction.end, condition.not_code), state, weak=weak)

    def leave(self, instruction: Instruction, state: AbstractState, holds: int, weak: bool) -> None:
        """Carry out an instruction, and go wherever it goes."""
        after = emulate(self.arch, state, instruction, self.code.read)
        if instruction.literal is not None:
            self.constant(instruction, *instruction.literal)
        if self.current and loses_return_address(self.arch, state, after):
            self.late.pushes |= self.current
            raise StartAgain
        control = control_of(self.arch, self.code.isa, instruction, after)
        if self.states.on_trial and loses(self.arch, state, after, control):
            raise LosesValue
        made = comes_back(self.code, control, after) if isinstance(control, Jump) else None
        match control:
            case Jump() if made is not None:
                self.return_to(made, instruction, control, after, weak=weak)
                return
            case Jump(targets, conditional, _, table, _, if_equal, if_above):
                if table is not None:
                    targets, table = self.cases(control, table, after)
                    self.data[table[0]] = table[1]
                equal = after if if_equal is None else made_equal(after)
                there = equal if if_equal else after
                for target in targets:
                    if there is not None and self.code.function.covers(target):
                        self.arrive((target, holds), there, weak=weak)
                    elif there is not None and (back := come_back(self.code, instruction, target, there)) is not None:
                        self.arrive((back[0], 0), back[1], weak=weak)
                if if_equal is False:
                    if equal is None:
                        return
                    after = equal
                if if_above is not None:
                    there, after = (there, made_at_most(after)) if if_above else (made_at_most(after), after)
                if not targets:
                    self.jumps[instruction.address] = after
                if not conditional or (control.when is not None and holds == control.when.code):
                    return
            case Call(target):
                if target is not None and target != self.code.function.entry and self.code.function.covers(target):
                    if instruction.address in self.late.pushes:
                        self.arrive((target, 0), pushed(self.arch, after, instruction.end), weak=weak)
                        return
                    outside, self.current = self.current, frozenset({instruction.address})
                    self.arrive((target, 0), entry_state(self.arch), weak=False)
                    self.current = outside
                if instruction.address in self.late.no_return or (weak and target in self.never_back):
                    return
                holds, after = 0, called(self.code, after, target)
                self.calls[instruction.address] = (after, weak)
                self.behind_call[instruction.end] = instruction.address
            case Return() | Trap():
                return
            case SystemCall():
                if gives_signal_back(self.arch, after):
                    raise UnsupportedRule("a signal's trampoline: the interrupted registers are in the signal frame")
            case None:
                if instruction.idle and instruction.address in self.behind_call:
                    self.behind_call[instruction.end] = self.behind_call[instruction.address]
        self.arrive((instruction.end, holds), after, weak=weak)

    def constant(self, instruction: Instruction, start: int, end: int) -> None:
        """A constant beside the code. Raises StartAgain where it was taken for code."""
        self.data[start] = end
        if start not in self.late.constants and self.code.function.covers(start):
            self.late.constants[start] = end, instruction.address
            if self.states.reached(start):
                self.late.leave_out_nonsense()
                raise StartAgain

    def return_to(self, back: int, instruction: Instruction, jump: Jump, state: AbstractState, *, weak: bool) -> None:
        """Go on where a call made of two instructions comes back to."""
        self.come_back.add(back)
        if instruction.address not in self.late.no_return:
            self.behind_call[back] = instruction.address
            after = called(self.code, popped(self.arch, state), next(iter(jump.targets), None))
            self.calls[instruction.address] = (after, weak)
            self.arrive((back, 0), after, weak=weak)

    def cases(
        self, jump: Jump, table: tuple[int, int], state: AbstractState
    ) -> tuple[tuple[int, ...], tuple[int, int]]:
        """The targets of a jump table and where it lies: as many cases as its index was compared with, if it was.

        What lies behind a table may be code that no case begins with, and would be read as more cases.
        """
        targets, width = jump.targets, (table[1] - table[0]) // len(jump.targets)
        most = state.at_most.get(jump.index or "")
        if most is not None:
            targets = targets[: most + 1]
        end = table[0] + len(targets) * width
        return tuple(dict.fromkeys(targets)), (table[0], end + end % self.code.step)

    def seeds(self, pc: int) -> list[AbstractState]:
        """The states in which code may begin that no way leads to, the likeliest one first."""
        inside = [s for s in self.jumps.values() if not is_home(self.arch, s)]  # others may be tail calls
        found, first = inside or list(self.jumps.values()), self.code.at(pc)
        answers = [found] if found else []
        if not found or (first is not None and first.marked):
            strong = tuple(state for state, weak in self.calls.values() if not weak)
            answers = landings(self.arch, strong or tuple(state for state, _ in self.calls.values())) or answers
        self.count(sum(map(len, answers)))
        return [reduce(join, each) for each in answers if not any(self.disagree(each[0], other) for other in each[1:])]
