"""What is known before an instruction: the caller's values in registers and slots of the frame.

A value is one of

* ``EntryValue(register)``: what the register held at the function's entry, that is, in the caller (its signed form
  too);
* ``StackAddress(base, offset)``: an address in the frame. One base is the CFA; every other base is an SP that an
  instruction has set in a way that the code alone does not say (a variable-size array, a realigned stack), and is named
  by that instruction's address;
* ``Number``: a constant;
* ``Pointer``: a word that was loaded from memory, so that a jump to it is through a pointer and not into a jump table;
* or it is not followed, and then it is in no dictionary.

The memory of a frame is a set of slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from testbed.arch import Arch

CFA = -1  # no instruction has this address
LANDED = -2  # nor this one: SP where exceptions land in a function with a frame pointer


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
    """A known number in a register or a word."""

    value: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """A word from memory that is not followed."""


AbstractValue = EntryValue | StackAddress | Number | Pointer
Slot = tuple[int, int]  # base, offset
SlotOrName = TypeVar("SlotOrName")
Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True)
class AbstractState:
    """What is known before an instruction. A slot maps to the size and the value stored there.

    ``compared`` are the register, and the register or number, whose comparison the flags hold. ``at_most`` are
    registers that a comparison has shown to be no greater than a number.
    """

    registers: Mapping[str, AbstractValue] = field(default_factory=dict)
    slots: Mapping[Slot, tuple[int, AbstractValue]] = field(default_factory=dict)
    compared: tuple[str, str | int] | None = None
    at_most: Mapping[str, int] = field(default_factory=dict)

    def said(self) -> set[str | int]:
        """The registers whose caller's value is in some register or slot; `CFA`, if an address in its frame is."""
        found: set[str | int] = set()
        for value in (*self.registers.values(), *(value for _, value in self.slots.values())):
            if type(value) is EntryValue:
                found.add(value.register)
            elif type(value) is StackAddress and value.base == CFA:
                found.add(CFA)
        return found


@dataclass(frozen=True, slots=True)
class FunctionStates:
    """The states before each instruction of a function that control can get to; several only under conditions.

    ``come_back`` are the places that calls made of two instructions come back to: no call stands in front.
    """

    before: Mapping[int, tuple[AbstractState, ...]]
    come_back: frozenset[int]


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
        _common(one.at_most, other.at_most),
    )


def _common(one: Mapping[SlotOrName, Stored], other: Mapping[SlotOrName, Stored]) -> Mapping[SlotOrName, Stored]:
    """What both say; the first one itself where it is that, so that states share what they have in common."""
    if one is other:
        return one
    both = {key: value for key, value in one.items() if other.get(key) == value}
    return one if len(both) == len(one) else both
