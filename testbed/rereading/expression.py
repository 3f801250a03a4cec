"""DWARF expressions of call frame information, evaluated (DWARF 5, section 2.5.1).

Division, comparison and ``shra`` take their operands as signed words, as GCC's and GNU's readers do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.arch import Arch

WordReader = Callable[[int, int], int | None]  # of an address and a size in bytes

_MOST_STEPS = 10_000

_LITERALS = {0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False), 0x0D: (4, True)}
_LITERALS |= {0x0E: (8, False), 0x0F: (8, True)}
_ON_TWO: Mapping[int, Callable[[int, int], int]] = {
    0x1A: operator.and_,
    0x1C: operator.sub,
    0x1E: operator.mul,
    0x21: operator.or_,
    0x22: operator.add,
    0x24: lambda a, b: a << b if b < 64 else 0,
    0x25: lambda a, b: a >> b,
    0x1D: operator.mod,
    0x27: operator.xor,
}
_ON_TWO_SIGNED: Mapping[int, Callable[[int, int], int]] = {
    0x1B: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    0x26: lambda a, b: a >> min(abs(b), 64),
    0x29: operator.eq,
    0x2A: operator.ge,
    0x2B: operator.gt,
    0x2C: operator.le,
    0x2D: operator.lt,
    0x2E: operator.ne,
}
_ON_ONE: Mapping[int, Callable[[int], int]] = {0x19: abs, 0x1F: operator.neg, 0x20: operator.invert}


class Unknown(Exception):
    """A value that cannot be had: a register, a word in memory, or an operation that this evaluator does not know."""


def leb128(data: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """A LEB128 number and where the next thing begins. Raises IndexError where the data ends before."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value - (1 << shift) if signed and byte & 0x40 else value), at


def compute(
    code: bytes, stack: list[int | None], arch: Arch, registers: Mapping[str, int | None], read_word: WordReader
) -> int:
    """The value on top at the end; ``stack`` is there before the first operation. Raises Unknown."""
    machine = _StackMachine(code, stack, arch, registers, read_word)
    try:
        for _ in range(_MOST_STEPS):
            if machine.at >= len(code):
                return machine.pop()
            machine.step()
    except (IndexError, ZeroDivisionError) as error:
        raise Unknown from error
    raise Unknown


@dataclass(slots=True)
class _StackMachine:
    code: bytes
    stack: list[int | None]
    arch: Arch
    registers: Mapping[str, int | None]
    read_word: WordReader
    at: int = 0  # the next byte

    def step(self) -> None:
        """Execute one operation. Raises IndexError where the code or the stack ends."""
        op, stack = self.number(1), self.stack
        if op in _LITERALS:
            stack.append(self.number(*_LITERALS[op]))
        elif op in (0x10, 0x11):  # constu, consts
            stack.append(self.leb128(op == 0x11))
        elif 0x30 <= op <= 0x4F:  # lit0 to lit31
            stack.append(op - 0x30)
        elif 0x70 <= op <= 0x8F:  # breg0 to breg31
            stack.append(self.register(op - 0x70) + self.leb128(True))
        elif op == 0x92:  # bregx
            stack.append(self.register(self.leb128()) + self.leb128(True))
        elif op in _ON_TWO:
            second, first = self.pop(), self.pop()
            stack.append(_ON_TWO[op](first, second))
        elif op in _ON_TWO_SIGNED:
            second, first = self.signed(self.pop()), self.signed(self.pop())
            stack.append(int(_ON_TWO_SIGNED[op](first, second)))
        elif op in _ON_ONE:
            stack.append(_ON_ONE[op](self.signed(self.pop())))
        elif op == 0x23:  # plus_uconst
            stack.append(self.pop() + self.leb128())
        elif op == 0x06:  # deref
            stack.append(self.read_word(self.pop(), self.arch.word))
        elif op == 0x94:  # deref_size
            stack.append(self.read_word(self.pop(), self.number(1)))
        elif op in (0x28, 0x2F):  # bra, skip
            distance = self.number(2, True)
            if op == 0x2F or self.pop():
                self.at += distance
        elif op != 0x96:  # nop
            self.move(op)

    def move(self, op: int) -> None:
        """Execute an operation that only moves what is on the stack."""
        stack = self.stack
        if op in (0x12, 0x14, 0x15):  # dup, over, pick
            stack.append(stack[-1 - (self.number(1) if op == 0x15 else (op - 0x12) // 2)])
        elif op == 0x13:  # drop
            stack.pop()
        elif op == 0x16:  # swap
            stack.insert(-1, stack.pop())
        elif op == 0x17:  # rot: the first becomes the third
            stack.insert(-2, stack.pop())
        else:
            raise Unknown

    def number(self, size: int, is_signed: bool = False) -> int:
        found = self.code[self.at : self.at + size]
        self.at += size
        if len(found) < size:
            raise IndexError
        return int.from_bytes(found, "little", signed=is_signed)

    def leb128(self, is_signed: bool = False) -> int:
        value, self.at = leb128(self.code, self.at, is_signed)
        return value

    def register(self, number: int) -> int:
        return self.known(self.registers.get(self.arch.by_dwarf.get(number, "")))

    def pop(self) -> int:
        return self.known(self.stack.pop())

    def known(self, value: int | None) -> int:
        if value is None:
            raise Unknown
        return value & self.arch.word_mask

    def signed(self, value: int) -> int:
        return value - (self.arch.word_mask + 1) if value > self.arch.word_mask // 2 else value
