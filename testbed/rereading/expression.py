"""DWARF expressions of call frame information, evaluated (DWARF 5, section 2.5.1).

Division, comparison and ``shra`` take their operands as signed words, as GCC's and GNU's readers do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from testbed.arch import Arch
from testbed.rereading.table_bytes import TableBytes

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


_OPERANDS: Mapping[int, str] = {  # as `TableBytes.operands` has them (DWARF 5, section 7.7.1)
    **dict.fromkeys([0x06, *range(0x12, 0x15), *range(0x16, 0x28), *range(0x29, 0x2F), *range(0x30, 0x70)], ""),
    **dict.fromkeys([0x96, 0x97, 0x9B, 0x9C, 0x9F, 0xE0], ""),
    0x03: "w",
    **{0x08 + i: "11224488"[i] for i in range(8)},
    0x10: "u",
    0x11: "s",
    0x15: "1",
    0x23: "u",
    0x28: "2",
    0x2F: "2",
    **dict.fromkeys(range(0x70, 0x90), "s"),
    0x90: "u",
    0x91: "s",
    0x92: "us",
    0x93: "u",
    0x94: "1",
    0x95: "1",
    0x98: "2",
    0x99: "4",
    0x9D: "uu",
    0x9E: "b",
    0xA1: "u",
    0xA2: "u",
    0xA3: "b",
    0xA5: "uu",
    0xA6: "1u",
    0xA7: "1u",
    0xA8: "u",
    0xA9: "u",
}
_JUMPS = (0x28, 0x2F)  # bra, skip


def check(code: bytes, word: int) -> None:
    """Raises LookupError or ValueError for an operation that there is not, or that is cut off, and a jump into one."""
    cursor, begins, targets = TableBytes(code, 0, len(code)), {len(code)}, []
    while cursor.left:
        begins.add(cursor.at)
        op = cursor.number(1)
        if op in _JUMPS:
            distance = cursor.number(2, True)
            targets.append(cursor.at + distance)
        else:
            cursor.operands(_OPERANDS[op], word)
    if not begins.issuperset(targets):
        raise ValueError("a jump to where no operation begins")


@cache
def registers_read(code: bytes, word: int) -> tuple[int, ...] | None:
    """The DWARF numbers of the registers that an expression counts from; None where it looks at more than these."""
    cursor, found = TableBytes(code, 0, len(code)), set()
    while cursor.left:
        op = cursor.number(1)
        if op in (0x03, 0x06, 0x94) or op not in _OPERANDS:  # addr, deref, deref_size
            return None
        if 0x70 <= op <= 0x8F:
            found.add(op - 0x70)
        elif op == 0x92:
            found.add(cursor.leb128())
        cursor.operands(_OPERANDS[op] if op != 0x92 else "s", word)
    return tuple(found)


class Surroundings(Protocol):
    """What an expression may look at."""

    @property
    def arch(self) -> Arch: ...
    @property
    def registers(self) -> Mapping[str, int | None]: ...
    @property
    def read_word(self) -> WordReader: ...
    @property
    def bias(self) -> int: ...


def compute(code: bytes, stack: list[int | None], around: Surroundings) -> int:
    """The value on top at the end; ``stack`` is there before the first operation. Raises Unknown."""
    machine = _StackMachine(TableBytes(code, 0, len(code)), stack, around.arch, around)
    try:
        for _ in range(_MOST_STEPS):
            if not machine.code.left:
                return machine.pop()
            machine.step()
    except (IndexError, ZeroDivisionError) as error:
        raise Unknown from error
    raise Unknown


@dataclass(slots=True)
class _StackMachine:
    code: TableBytes
    stack: list[int | None]
    arch: Arch
    around: Surroundings

    def step(self) -> None:
        """Execute one operation. Raises IndexError where the code or the stack ends."""
        code, stack = self.code, self.stack
        op = code.number(1)
        if op in _LITERALS:
            stack.append(code.number(*_LITERALS[op]))
        elif op in (0x10, 0x11):  # constu, consts
            stack.append(code.leb128(op == 0x11))
        elif op == 0x03:  # addr
            stack.append(code.number(self.arch.word) + self.around.bias)
        elif 0x30 <= op <= 0x4F:  # lit0 to lit31
            stack.append(op - 0x30)
        elif 0x70 <= op <= 0x8F:  # breg0 to breg31
            stack.append(self.register(op - 0x70) + code.leb128(True))
        elif op == 0x92:  # bregx
            stack.append(self.register(code.leb128()) + code.leb128(True))
        elif op in _ON_TWO:
            second, first = self.pop(), self.pop()
            stack.append(_ON_TWO[op](first, second))
        elif op in _ON_TWO_SIGNED:
            second, first = self.signed(self.pop()), self.signed(self.pop())
            stack.append(int(_ON_TWO_SIGNED[op](first, second)))
        elif op == 0x26:  # shra
            distance = min(self.pop(), 64)
            stack.append(self.signed(self.pop()) >> distance)
        elif op in _ON_ONE:
            stack.append(_ON_ONE[op](self.signed(self.pop())))
        elif op == 0x23:  # plus_uconst
            stack.append(self.pop() + code.leb128())
        elif op == 0x06:  # deref
            stack.append(self.around.read_word(self.pop(), self.arch.word))
        elif op == 0x94:  # deref_size
            size = code.number(1)
            if not 1 <= size <= self.arch.word:
                raise Unknown
            stack.append(self.around.read_word(self.pop(), size))
        elif op in _JUMPS:
            distance = code.number(2, True)
            if op == 0x2F or self.pop():
                code.at += distance
        elif op != 0x96:  # nop
            self.move(op)

    def move(self, op: int) -> None:
        """Execute an operation that only moves what is on the stack."""
        stack = self.stack
        if op in (0x12, 0x14, 0x15):  # dup, over, pick
            stack.append(stack[-1 - (self.code.number(1) if op == 0x15 else (op - 0x12) // 2)])
        elif op == 0x13:  # drop
            stack.pop()
        elif op == 0x16:  # swap
            stack[-2], stack[-1] = stack[-1], stack[-2]
        elif op == 0x17:  # rot: the first becomes the third
            stack[-3], stack[-2], stack[-1] = stack[-1], stack[-3], stack[-2]
        else:
            raise Unknown

    def register(self, number: int) -> int:
        return self.known(self.around.registers.get(self.arch.by_dwarf.get(number, "")))

    def pop(self) -> int:
        return self.known(self.stack.pop())

    def known(self, value: int | None) -> int:
        if value is None:
            raise Unknown
        return value & self.arch.word_mask

    def signed(self, value: int) -> int:
        return value - (self.arch.word_mask + 1) if value > self.arch.word_mask // 2 else value
