"""The abstract machine: which of the caller's values a function holds where, before each of its instructions.

A value is one of

* ``EntryValue(register)``: what the register held at the function's entry, that is, in the caller (its signed form
  too);
* ``StackAddress(base, offset)``: an address in the frame. One base is the CFA; every other base is an SP that an
  instruction has set in a way that the code alone does not say (a variable-size array, a realigned stack), and is named
  by that instruction's address;
* ``Number``: a constant;
* or it is not followed, and then it is in no dictionary.

The memory of a frame is a set of slots. A store through an address that is not followed is taken to miss the slots
that hold the caller's registers: a function that does overwrite them cannot return either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from testbed.arch import Arch
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

CFA = -1  # no instruction has this address


@dataclass(frozen=True, slots=True)
class EntryValue:
    """The caller's value of a register; ``signed``: with a signature in its upper bits."""

    register: str
    signed: bool = False


@dataclass(frozen=True, slots=True)
class StackAddress:
    """``base + offset``, an address on the stack."""

    base: int
    offset: int


@dataclass(frozen=True, slots=True)
class Number:
    value: int


AbstractValue = EntryValue | StackAddress | Number
Slot = tuple[int, int]  # base, offset
SlotOrName = TypeVar("SlotOrName")
Stored = TypeVar("Stored")
ReadCode = Callable[[int, int], int | None]  # constants in code: address, size -> value


@dataclass(frozen=True, slots=True)
class AbstractState:
    """What is known before an instruction. A slot maps to the size and the value stored there.

    ``compared`` are the registers whose comparison the flags hold.
    """

    registers: Mapping[str, AbstractValue] = field(default_factory=dict)
    slots: Mapping[Slot, tuple[int, AbstractValue]] = field(default_factory=dict)
    compared: tuple[str, str] | None = None


def entry_state(arch: Arch) -> AbstractState:
    """A function's first instruction: every register is the caller's, and SP is ``entry_cfa`` below the CFA."""
    names = [r.name for r in arch.registers if r.name not in (arch.pc, arch.flags)]
    registers: dict[str, AbstractValue] = {name: EntryValue(name) for name in names}
    registers[arch.sp] = StackAddress(CFA, -arch.entry_cfa)
    if arch.link is not None:
        return AbstractState(registers)
    return AbstractState(registers, {(CFA, -arch.word): (arch.word, EntryValue(arch.return_address))})


def join(one: AbstractState, other: AbstractState) -> AbstractState:
    """What holds whichever way control came."""
    if one is other:
        return one
    return AbstractState(
        _common(one.registers, other.registers),
        _common(one.slots, other.slots),
        one.compared if one.compared == other.compared else None,
    )


def _common(one: Mapping[SlotOrName, Stored], other: Mapping[SlotOrName, Stored]) -> Mapping[SlotOrName, Stored]:
    """What both say; the first one itself where it is that, so that states share what they have in common."""
    if one is other:
        return one
    both = {key: value for key, value in one.items() if other.get(key) == value}
    return one if len(both) == len(one) else both


def made_equal(state: AbstractState) -> AbstractState | None:
    """After a jump that is taken because the compared registers are equal: what is known of one holds of the other.

    A loop that probes a large frame page by page ends so, with SP at a limit that another register holds. None where
    they are known to differ: after the first page the loop does not end.
    """
    if state.compared is None:
        return state
    one, other = (state.registers.get(name) for name in state.compared)
    if isinstance(one, StackAddress) and isinstance(other, StackAddress):
        if one.base == other.base:
            return state if one == other else None
        old, new = (one, other) if other.base == CFA else (other, one)
        return _rebased(state, old.base, StackAddress(new.base, new.offset - old.offset))
    known = one if isinstance(one, StackAddress) else other
    if not isinstance(known, StackAddress) or (one is not None and other is not None):
        return state
    return AbstractState({**state.registers, **dict.fromkeys(state.compared, known)}, state.slots)


def _rebased(state: AbstractState, base: int, place: StackAddress) -> AbstractState:
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
    kept = {name: v for name, v in state.registers.items() if name == arch.sp or name in arch.preserved}
    sp = state.registers.get(arch.sp)
    if not isinstance(sp, StackAddress):
        return AbstractState(kept, state.slots)
    sp = kept[arch.sp] = StackAddress(sp.base, sp.offset + pops)
    slots = {(b, o): held for (b, o), held in state.slots.items() if b != sp.base or o >= sp.offset}
    return AbstractState(kept, slots)


def emulate(arch: Arch, state: AbstractState, instruction: Instruction, read_code: ReadCode) -> AbstractState:
    """The state after the operations of an instruction."""
    compared = instruction.compares or (None if instruction.sets_flags else state.compared)
    if not instruction.operations and compared == state.compared:
        return state
    machine = _AbstractMachine(arch, dict(state.registers), dict(state.slots), instruction.address, read_code)
    for operation in instruction.operations:
        machine.execute(operation)
    if compared is not None and any(not isinstance(o, Store) and o.to in compared for o in instruction.operations):
        compared = None
    return AbstractState(
        state.registers if machine.registers == state.registers else machine.registers,
        state.slots if machine.slots == state.slots else machine.slots,
        compared,
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
        if value is None and register == self.arch.sp:
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
            case EntryValue() if offset == 0:
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
        match self.registers.get(at.register):
            case StackAddress(base, offset):
                kept, value = self.slots.get((base, offset + at.offset), (0, None))
                return value if kept == size else None
            case _:
                if at.register != self.arch.pc:
                    return None
                number = self.read_code(at.offset, size)
                return None if number is None else Number(number)

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
