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

from dataclasses import dataclass, field
from functools import partial, reduce

from testbed.arch import Arch
from testbed.words.errors import UnsupportedRule
from unwinders.analysis.abstract_machine import emulate, made_at_most, made_equal
from unwinders.analysis.abstract_state import AbstractState, FunctionStates, StackAddress, entry_state, join
from unwinders.analysis.called_functions import called, comes_back, loses_return_address, popped, pushed
from unwinders.analysis.found_late import DoesNotReturn, FoundLate, IsConstant, IsNoCall
from unwinders.analysis.function_code import LONGEST, FunctionCode
from unwinders.analysis.indirect_control import control_of, gives_signal_back, is_home
from unwinders.analysis.meeting_states import landings, left_out
from unwinders.analysis.operations import Call, Condition, Instruction, Jump, Return, SystemCall, Trap
from unwinders.analysis.spread_states import LosesValue, Node, SpreadStates, loses
from unwinders.analysis.unreached_code import called_last, unreached
from unwinders.analysis.veneers import come_back

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
        except (DoesNotReturn, IsNoCall, IsConstant) as found:
            late.add(found)
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
            raise DoesNotReturn(call)

    def disagree(self, one: AbstractState, other: AbstractState) -> bool:
        """True where SP lies at two known, different distances."""
        a, b = one.registers.get(self.arch.sp), other.registers.get(self.arch.sp)
        return isinstance(a, StackAddress) and isinstance(b, StackAddress) and a.base == b.base and a != b

    def execute(self, node: Node, instruction: Instruction) -> None:
        _, holds = node
        state, weak = self.states.at[node], node in self.states.weak
        condition, when = instruction.condition, _condition_of(instruction)
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
            raise IsNoCall(self.current)
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
        """A constant beside the code. Raises IsConstant where it was taken for code."""
        self.data[start] = end
        if start not in self.late.constants and self.code.function.covers(start):
            self.late.constants[start] = end, instruction.address
            if self.states.reached(start):
                raise IsConstant

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


def _condition_of(instruction: Instruction) -> Condition | None:
    """The condition under which an instruction jumps, where others may have it, too."""
    return instruction.control.when if isinstance(instruction.control, Jump) else None
