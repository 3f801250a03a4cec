"""The abstract machine: what an instruction does to what is known before it.

A store through an address that is not followed is taken to miss the slots that hold the caller's registers: a function
that does overwrite them cannot return either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from testbed.arch import Arch
from testbed.conventions import platform
from unwinders.analysis.abstract_state import (
    CFA,
    AbstractState,
    AbstractValue,
    EntryValue,
    Number,
    Pointer,
    Slot,
    StackAddress,
)
from unwinders.analysis.operations import (
    Combine,
    Effect,
    Forget,
    Instruction,
    Load,
    MemoryOperand,
    Set,
    SetBits,
    SetNumber,
    Sign,
    Store,
)

ReadCode = Callable[[int, int], int | None]  # constants in code: address, size -> value


def made_equal(state: AbstractState) -> AbstractState | None:
    """After a jump that is taken because the compared registers are equal: what is known of one holds of the other.

    A loop that probes a large frame page by page ends so, with SP at a limit that another register holds. None where
    they are known to differ: after the first page the loop does not end.
    """
    if state.compared is None or isinstance(state.compared[1], int):
        return state
    one, other = (state.registers.get(str(name)) for name in state.compared)
    if isinstance(one, StackAddress) and isinstance(other, StackAddress):
        if one.base == other.base:
            return state if one == other else None
        old, new = (one, other) if other.base == CFA else (other, one)
        return rebased(state, old.base, StackAddress(new.base, new.offset - old.offset))
    known = one if isinstance(one, StackAddress) else other
    if not isinstance(known, StackAddress) or (one is not None and other is not None):
        return state
    return AbstractState({**state.registers, **{str(name): known for name in state.compared}}, state.slots)


def made_at_most(state: AbstractState) -> AbstractState:
    """After a jump that is not taken because the register is not above a number: a jump table has so many cases."""
    if state.compared is None or not isinstance(state.compared[1], int):
        return state
    return replace(state, at_most={**state.at_most, state.compared[0]: state.compared[1]})


def rebased(state: AbstractState, base: int, place: StackAddress) -> AbstractState:
    """The state once it is known where one of its bases lies."""

    def moved(value: AbstractValue) -> AbstractValue:
        if isinstance(value, StackAddress) and value.base == base:
            return StackAddress(place.base, place.offset + value.offset)
        return value

    registers = {name: moved(value) for name, value in state.registers.items()}
    slots = {
        ((place.base, place.offset + at) if where == base else (where, at)): (size, moved(value))
        for (where, at), (size, value) in state.slots.items()
    }
    return AbstractState(registers, slots)


def after_call(arch: Arch, state: AbstractState, pops: int = 0) -> AbstractState:
    """The callee keeps SP (but for ``pops`` bytes of arguments) and the callee-saved registers.

    The stack below SP it uses as it likes.
    """
    kept = {name: v for name, v in state.registers.items() if name == arch.sp or name in platform(arch).preserved}
    sp = state.registers.get(arch.sp)
    if not isinstance(sp, StackAddress):
        return AbstractState(kept, state.slots)
    sp = kept[arch.sp] = StackAddress(sp.base, sp.offset + pops)
    slots = {(b, o): held for (b, o), held in state.slots.items() if b != sp.base or o >= sp.offset}
    return AbstractState(kept, slots)


def emulate(arch: Arch, state: AbstractState, instruction: Instruction, read_code: ReadCode) -> AbstractState:
    """The state after the operations of an instruction."""
    compared: tuple[str, str | int] | None = instruction.compares or (
        None if instruction.sets_flags else state.compared
    )
    if not instruction.operations and compared == state.compared:
        return state
    machine = _AbstractMachine(arch, dict(state.registers), dict(state.slots), instruction.address, read_code)
    for operation in instruction.operations:
        machine.execute(operation)
    written = {o.to for o in instruction.operations if not isinstance(o, Store)}
    if compared is not None and not written.isdisjoint(compared):
        compared = None
    return AbstractState(
        state.registers if machine.registers == state.registers else machine.registers,
        state.slots if machine.slots == state.slots else machine.slots,
        compared,
        {name: n for name, n in state.at_most.items() if name not in written} if state.at_most else state.at_most,
    )


@dataclass(slots=True)
class _AbstractMachine:
    arch: Arch
    registers: dict[str, AbstractValue]
    slots: dict[Slot, tuple[int, AbstractValue]]
    pc: int
    read_code: ReadCode

    def execute(self, operation: Effect) -> None:
        match operation:
            case Set(to, source, offset):
                self.put(to, self.plus(self.registers.get(source), offset))
                if to == self.arch.sp and source != to and source not in self.registers:
                    self.registers[source] = StackAddress(self.pc, -offset)  # SP's new base lies where this one says
            case SetNumber(to, value):
                self.put(to, Number(value & self.arch.word_mask))
            case SetBits(to, value, shift, bits):
                self.put(to, self.with_bits(self.registers.get(to), value, shift, bits))
            case Combine(to, left, right, sign):
                self.put(to, self.combined(self.registers.get(left), self.registers.get(right), sign))
            case Forget(to):
                self.put(to, None)
            case Load(to, at, size):
                self.put(to, self.loaded(at, size))
            case Store(source, at, size):
                self.store(self.registers.get(source) if source else None, at, size)
            case Sign(to, signed):
                held = self.registers.get(to)
                self.put(to, EntryValue(held.register, signed) if isinstance(held, EntryValue) else None)

    def put(self, register: str, value: AbstractValue | None) -> None:
        if register == self.arch.sp and not isinstance(value, StackAddress):
            value = self.new_base()
        if value is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = value

    def new_base(self) -> StackAddress:
        """An SP of its own. What counts from an earlier execution of this same instruction counts no more."""
        for name in [n for n, v in self.registers.items() if isinstance(v, StackAddress) and v.base == self.pc]:
            del self.registers[name]
        for slot, (_, value) in list(self.slots.items()):
            if slot[0] == self.pc or (isinstance(value, StackAddress) and value.base == self.pc):
                del self.slots[slot]
        return StackAddress(self.pc, 0)

    def plus(self, value: AbstractValue | None, offset: int) -> AbstractValue | None:
        match value:
            case StackAddress(base, at):
                return StackAddress(base, at + offset)
            case Number(number):
                return Number((number + offset) & self.arch.word_mask)
            case EntryValue() | Pointer() if offset == 0:
                return value
            case _:
                return None

    def combined(self, left: AbstractValue | None, right: AbstractValue | None, sign: int) -> AbstractValue | None:
        if isinstance(right, Number):
            return self.plus(left, sign * _signed(right.value, self.arch.word))
        if isinstance(left, Number) and sign > 0:
            return self.plus(right, _signed(left.value, self.arch.word))
        return None

    def with_bits(self, value: AbstractValue | None, bits_of: int, shift: int, bits: int) -> AbstractValue | None:
        if not isinstance(value, Number):
            return None
        mask = ((1 << bits) - 1) << shift
        return Number((value.value & ~mask) | ((bits_of << shift) & mask))

    def loaded(self, at: MemoryOperand, size: int) -> AbstractValue | None:
        unknown = Pointer() if size == self.arch.word else None
        if at.register == self.arch.pc:
            number = self.read_code(at.offset, size)
            return unknown if number is None else Number(number)
        match self.registers.get(at.register):
            case StackAddress(base, offset):
                kept, value = self.slots.get((base, offset + at.offset), (0, None))
                return value if kept == size and value is not None else unknown
            case _:
                return unknown

    def store(self, value: AbstractValue | None, at: MemoryOperand, size: int) -> None:
        where = self.registers.get(at.register)
        if not isinstance(where, StackAddress):
            return
        low = where.offset + at.offset
        for slot, (kept, _) in list(self.slots.items()):
            if slot[0] == where.base and slot[1] < low + size and low < slot[1] + kept:
                del self.slots[slot]
        if value is not None:
            self.slots[where.base, low] = size, value


def _signed(value: int, word: int) -> int:
    return value - (1 << (8 * word)) if value >> (8 * word - 1) else value
