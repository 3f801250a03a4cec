"""The control flow of a function: the state before each instruction, whichever way control gets there.

States spread from the entry along all edges and are joined where they meet, until nothing changes any more. A join
only ever forgets, so this ends. Beyond plain edges:

* Two ways that have SP at different places meet behind a call: that call does not return (``abort``). The spreading
  starts again without its way on.
* A call to a place inside the function is a subroutine of its own: that place has the state of an entry.
* Code that no way leads to, in a function with a jump whose targets the code does not say (a jump table), is where
  that jump goes: it begins in the state of the jump. Without such a jump, it is where exceptions land: in the state
  behind the calls, if they agree. Against what is known from the entry, such a state never wins.
* Under a condition (A32, IT blocks) there are two states, kept apart until the flags change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.arch import Arch, PerArch
from testbed.words.errors import UnsupportedRule
from unwinders.analysis.abstract_machine import (
    CFA,
    AbstractState,
    EntryValue,
    Number,
    StackAddress,
    after_call,
    emulate,
    entry_state,
    join,
    made_equal,
)
from unwinders.analysis.function_code import LONGEST, FunctionCode
from unwinders.analysis.operations import Call, Control, Instruction, Jump, Return, SystemCall, Trap

MOST_PLACES = 100_000  # instructions of one function; half a megabyte of x86-64 code
MOST_STEPS = 400_000  # instructions emulated for one function, over and over
MOST_RESTARTS = 64

# Linux: rt_sigreturn, and sigreturn where it is another one.
SIGNAL_RETURNS = PerArch({"x86_64": frozenset({15}), "arm64": frozenset({139}), "arm32": frozenset({119, 173})})

Node = tuple[int, int]  # a pc, and the condition that is known to hold there (0: none)


def states_of(code: FunctionCode) -> dict[int, tuple[AbstractState, ...]]:
    """The states before each instruction of a function that control can get to; several only under conditions.

    Raises UnsupportedRule for a function too large to be followed.
    """
    if sum(end - start for start, end in code.function.parts) > MOST_PLACES * LONGEST:
        raise UnsupportedRule(f"{code.function.name} is too large to be followed")
    no_return: set[int] = set()
    steps = 0
    for _ in range(MOST_RESTARTS):
        spread = _Propagation(code, no_return, steps=steps)
        blamed = spread.all()
        if blamed is None:
            break
        no_return.add(blamed)
        steps = spread.steps
    out: dict[int, tuple[AbstractState, ...]] = {}
    for (pc, _), state in sorted(spread.states.items(), key=lambda item: item[0]):
        out[pc] = (*out.get(pc, ()), state)
    return out


class _DoesNotReturn(Exception):
    def __init__(self, call: int) -> None:
        super().__init__(call)
        self.call = call


@dataclass(eq=False)
class _Propagation:
    code: FunctionCode
    no_return: set[int]
    states: dict[Node, AbstractState] = field(default_factory=dict)
    weak: set[Node] = field(default_factory=set)  # not reached from the entry
    jumps: dict[int, AbstractState] = field(default_factory=dict)  # to targets that the code does not say
    calls: dict[int, AbstractState] = field(default_factory=dict)
    behind_call: dict[int, int] = field(default_factory=dict)  # a pc behind a call, and alignment -> the call
    tables: list[tuple[int, int]] = field(default_factory=list)  # data between the instructions
    work: deque[Node] = field(default_factory=deque)
    steps: int = 0

    @property
    def arch(self) -> Arch:
        return self.code.image.arch

    def all(self) -> int | None:
        """Spread until all is known; a call that turns out not to return ends it."""
        try:
            self.arrive((self.code.function.entry, 0), entry_state(self.arch), weak=False)
            self.run()
            for pc in self.unreached():
                seed = self.seed()
                if seed is not None:
                    self.arrive((pc, 0), seed, weak=True)
                    self.run()
        except _DoesNotReturn as found:
            return found.call
        return None

    def run(self) -> None:
        while self.work:
            self.count(1)
            node = self.work.popleft()
            instruction = self.code.at(node[0])
            if instruction is not None:
                self.execute(node, instruction)

    def count(self, steps: int) -> None:
        """What was done for this function; too much of it ends it. Raises UnsupportedRule."""
        self.steps += steps
        if self.steps > MOST_STEPS or len(self.states) > MOST_PLACES:
            raise UnsupportedRule(f"{self.code.function.name} is too large to be followed")

    def arrive(self, node: Node, state: AbstractState, *, weak: bool) -> None:
        """Control gets to a place in one more state."""
        if not self.code.function.covers(node[0]):
            return  # a tail call, or the end of the function
        old = self.states.get(node)
        if old is None:
            self.states[node] = state
            if weak:
                self.weak.add(node)
            self.work.append(node)
            return
        if self.disagree(old, state):
            if weak and node not in self.weak:
                return
            call = self.behind_call.get(node[0])
            if call is not None and call not in self.no_return:
                raise _DoesNotReturn(call)
        joined = join(old, state)
        stronger = not weak and node in self.weak
        if stronger:
            self.weak.discard(node)
        if joined != old or stronger:
            self.states[node] = joined
            self.work.append(node)

    def disagree(self, one: AbstractState, other: AbstractState) -> bool:
        """True where SP lies at two known, different distances."""
        a, b = one.registers.get(self.arch.sp), other.registers.get(self.arch.sp)
        return isinstance(a, StackAddress) and isinstance(b, StackAddress) and a.base == b.base and a != b

    def execute(self, node: Node, instruction: Instruction) -> None:
        _, holds = node
        state, weak = self.states[node], node in self.weak
        condition = instruction.condition
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
        control = self.control(instruction, after)
        match control:
            case Jump(targets, conditional, _, table, if_equal):
                if table is not None:
                    self.tables.append(table)
                equal = after if if_equal is None else made_equal(after)
                there = equal if if_equal else after
                for target in targets:
                    if there is not None:
                        self.arrive((target, holds), there, weak=weak)
                if if_equal is False:
                    if equal is None:
                        return
                    after = equal
                if not targets:
                    self.jumps[instruction.address] = after
                if not conditional:
                    return
            case Call(target):
                if target is not None and target != self.code.function.entry and self.code.function.covers(target):
                    self.arrive((target, 0), entry_state(self.arch), weak=False)
                if instruction.address in self.no_return:
                    return
                holds, after = 0, after_call(self.arch, after, self.code.pops(target))
                self.calls[instruction.address] = after
                self.behind_call[instruction.end] = instruction.address
            case Return() | Trap():
                return
            case SystemCall():
                if self.gives_signal_back(after):
                    raise UnsupportedRule("a signal's trampoline: the interrupted registers are in the signal frame")
            case None:
                if instruction.idle and instruction.address in self.behind_call:
                    self.behind_call[instruction.end] = self.behind_call[instruction.address]
        self.arrive((instruction.end, holds), after, weak=weak)

    def control(self, instruction: Instruction, after: AbstractState) -> Control | None:
        """A jump through a register, told apart: a return, a call with the return address set by hand, a jump."""
        control = instruction.control
        arch = self.arch
        if isinstance(control, Return):
            pushed = after.registers.get(arch.pc)  # "push target; ret" is a jump
            return Jump((arch.code_address(pushed.value),)) if isinstance(pushed, Number) else control
        if not isinstance(control, Jump) or control.targets:
            return control
        behind = Number(instruction.end | self.code.isa.address_bit)
        if arch.link is not None and after.registers.get(arch.link) in (behind, Number(instruction.end)):
            return Call()
        value = after.registers.get(control.via) if control.via else None
        match value:
            case EntryValue(register) if register == arch.return_address:
                return Return()
            case Number(target):
                return Jump((arch.code_address(target),))
            case _:
                return control

    def gives_signal_back(self, state: AbstractState) -> bool:
        """True at the system call with which a signal's handler ends."""
        number = state.registers.get(self.arch.exit_call.number_register)
        return isinstance(number, Number) and number.value in SIGNAL_RETURNS[self.arch.name]

    def unreached(self) -> Iterator[int]:
        """Places that no way leads to so far, in order; asked again after each answer."""
        step = self.code.step
        for start, end in self.code.function.parts:
            pc = start
            while pc < end:
                after = next((last for first, last in self.tables if first <= pc < last), None)
                if after is not None:
                    pc = after
                    continue
                instruction = self.code.at(pc)
                if instruction is not None and not self.reached(pc) and not instruction.idle:
                    yield pc
                pc = instruction.end if instruction is not None else pc + step

    def reached(self, pc: int) -> bool:
        return (pc, 0) in self.states or any((pc, holds) in self.states for holds in range(1, 15))

    def seed(self) -> AbstractState | None:
        """The state in which code begins that no way leads to, if there is one answer."""
        home = entry_state(self.arch).registers[self.arch.sp]
        inside = [s for s in self.jumps.values() if s.registers.get(self.arch.sp) != home]  # others are tail calls
        found = inside or list(self.jumps.values()) or [self.landed(s) for s in self.calls.values()]
        self.count(len(found))
        if not found or any(self.disagree(found[0], other) for other in found[1:]):
            return None
        joined = found[0]
        for other in found[1:]:
            joined = join(joined, other)
        return joined

    def landed(self, state: AbstractState) -> AbstractState:
        """Where an exception lands: arguments of the call are off the stack, so a frame pointer is surer than SP."""
        without = {name: value for name, value in state.registers.items() if name != self.arch.sp}
        framed = any(isinstance(value, StackAddress) and value.base == CFA for value in without.values())
        return AbstractState(without, state.slots) if framed else state
