"""The DWARF stack machine, as call frame information uses it (DWARF 5, sections 2.5.1 and 6.4.2).

Values are unsigned machine words and wrap. Where the standard leaves the sign of its "generic type" open, this
does what GCC's and GNU's consumers do: division, comparison and ``shra`` are signed, ``mod`` and ``shr`` are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from testbed.arch import Arch
from testbed.contract.rows import Operation, RegisterPlus
from testbed.trace import Memory
from testbed.words.errors import UnknownRegister, UnsupportedRule, UnwindError
from unwinders.formats import dwarf_expr as op

MAX_STEPS = 10_000  # of one expression
MAX_STEPS_OF_A_WALK = 100_000  # of all of them: each register of each frame may have one
MAX_DEPTH = 256


class ExpressionSteps:
    """How many operations the expressions of one walk may still take together."""

    def __init__(self, left: int = MAX_STEPS_OF_A_WALK) -> None:
        self.left = left


def evaluate(
    operations: Sequence[Operation],
    arch: Arch,
    registers: Mapping[str, int],
    memory: Memory,
    initial: Sequence[int] = (),
    *,
    bias: int = 0,
    steps: ExpressionSteps | None = None,
) -> int:
    """The value on top of the stack at the end; ``initial`` is on it before the first operation.

    ``bias`` is added to DW_OP_addr, whose operand is a link-time address. Raises UnknownRegister,
    UnreadableMemory, and UnsupportedRule for an operation that has no meaning in call frame information, a stack
    that runs empty or too deep, a division by zero, a loop that does not end, and where no ``steps`` are left.
    """
    steps = steps or ExpressionSteps()
    machine = _ExpressionMachine(arch, registers, memory, bias, list(initial))
    by_offset = {operation.offset: i for i, operation in enumerate(operations)}
    at = 0
    steps.left -= len(operations) // 8  # for looking at them
    for _ in range(MAX_STEPS):
        if at >= len(operations):
            return machine.pop()
        steps.left -= 1
        if steps.left < 0:
            raise UnsupportedRule(f"the DWARF expressions of one stack take more than {MAX_STEPS_OF_A_WALK} operations")
        operation = operations[at]
        if machine.execute(operation):
            at = by_offset.get(op.jump_target(operation), len(operations))  # no operation there: the end
        else:
            at += 1
        if len(machine.stack) > MAX_DEPTH:
            raise UnsupportedRule(f"a DWARF expression puts more than {MAX_DEPTH} values on its stack")
    raise UnsupportedRule(f"a DWARF expression does not end within {MAX_STEPS} operations")


def sum_at(operations: Sequence[Operation], arch: Arch, pc: int) -> RegisterPlus | None:
    """An expression as a rule, where it counts upward from SP as far as the pc alone says; else None.

    That of a `.plt` does: its entries push a word on the way.
    """
    if len(operations) < 3 or operations[-1].opcode != op.PLUS or not op.BREG0 <= operations[0].opcode <= op.BREG31:
        return None
    machine = _ExpressionMachine(arch, {arch.pc: pc}, Memory.of(()), 0, [])
    try:
        if any(machine.execute(operation) for operation in operations[1:-1]) or len(machine.stack) != 1:
            return None
    except UnwindError:
        return None
    base = arch.by_dwarf.get(operations[0].opcode - op.BREG0)
    distance = machine.signed(operations[0].operands[0] + machine.pop() & arch.word_mask)
    return RegisterPlus(arch.sp, distance) if base == arch.sp and distance > 0 else None


class _ExpressionMachine:
    """The stack of one evaluation, and what its operations may look at."""

    def __init__(self, arch: Arch, registers: Mapping[str, int], memory: Memory, bias: int, stack: list[int]) -> None:
        self.arch, self.registers, self.memory, self.bias, self.stack = arch, registers, memory, bias, stack
        self.bits: Final = 8 * arch.word
        self.mask: Final = arch.word_mask

    def pop(self) -> int:
        if not self.stack:
            raise UnsupportedRule("a DWARF expression takes from an empty stack")
        return self.stack.pop()

    def push(self, value: int) -> None:
        self.stack.append(value & self.mask)

    def signed(self, value: int) -> int:
        return value - (1 << self.bits) if value >> (self.bits - 1) else value

    def register(self, number: int) -> int:
        name = self.arch.by_dwarf.get(number)
        if name is None or name not in self.registers:
            raise UnknownRegister(name or f"DWARF register {number}")
        return self.registers[name]

    def pick(self, depth: int) -> None:
        if depth >= len(self.stack):
            raise UnsupportedRule(f"a DWARF expression picks entry {depth} of a stack of {len(self.stack)}")
        self.push(self.stack[-1 - depth])

    def dereference(self, size: int) -> None:
        if not 1 <= size <= self.arch.word:
            raise UnsupportedRule(f"a DWARF expression dereferences {size} bytes")
        self.push(self.memory.unsigned(self.pop(), size))

    def execute(self, operation: Operation) -> bool:
        """Do one operation; true where it jumps."""
        code, operands = operation.opcode, operation.operands
        if op.LIT0 <= code <= op.LIT31:
            self.push(code - op.LIT0)
        elif op.BREG0 <= code <= op.BREG31:
            self.push(self.register(code - op.BREG0) + operands[0])
        elif op.CONST1U <= code <= op.CONSTS:
            self.push(operands[0])
        elif code in _UNARY:
            self.push(_UNARY[code](self.signed(self.pop())))
        elif code in _UNSIGNED or code in _SIGNED:
            second, first = self.pop(), self.pop()
            if code in (op.DIV, op.MOD) and second == 0:
                raise UnsupportedRule("a DWARF expression divides by zero")
            if code in _SIGNED:
                self.push(_SIGNED[code](self.signed(first), self.signed(second)))
            else:
                self.push(_UNSIGNED[code](first, second))
        elif code in (op.SHL, op.SHR, op.SHRA):
            self.shift(code)
        else:
            return self.execute_rest(operation)
        return False

    def execute_rest(self, operation: Operation) -> bool:
        """The operations that move values about, read memory or jump."""
        operands = operation.operands
        match operation.opcode:
            case op.ADDR:
                self.push(operands[0] + self.bias)
            case op.BREGX:
                self.push(self.register(operands[0]) + operands[1])
            case op.DEREF:
                self.dereference(self.arch.word)
            case op.DEREF_SIZE:
                self.dereference(operands[0])
            case op.DUP:
                self.pick(0)
            case op.OVER:
                self.pick(1)
            case op.PICK:
                self.pick(operands[0])
            case op.DROP:
                self.pop()
            case op.SWAP:
                top, second = self.pop(), self.pop()
                self.stack += [top, second]
            case op.ROT:  # the top goes below the next two
                top, second, third = self.pop(), self.pop(), self.pop()
                self.stack += [top, third, second]
            case op.PLUS_UCONST:
                self.push(self.pop() + operands[0])
            case op.NOP:
                pass
            case op.SKIP:
                return True
            case op.BRA:
                return self.pop() != 0
            case unknown:
                raise UnsupportedRule(f"DWARF operation {unknown:#04x} has no meaning in call frame information")
        return False

    def shift(self, code: int) -> None:
        distance, value = self.pop(), self.pop()
        distance = min(distance, self.bits)  # Python would build a number of that many bits
        if code == op.SHL:
            self.push(value << distance)
        elif code == op.SHR:
            self.push(value >> distance)
        else:
            self.push(self.signed(value) >> distance)


_UNARY: Mapping[int, Callable[[int], int]] = {op.ABS: abs, op.NEG: lambda a: -a, op.NOT: lambda a: ~a}
_UNSIGNED: Mapping[int, Callable[[int, int], int]] = {
    op.AND: lambda a, b: a & b,
    op.OR: lambda a, b: a | b,
    op.XOR: lambda a, b: a ^ b,
    op.PLUS: lambda a, b: a + b,
    op.MINUS: lambda a, b: a - b,
    op.MUL: lambda a, b: a * b,
    op.MOD: lambda a, b: a % b,
}
_SIGNED: Mapping[int, Callable[[int, int], int]] = {
    op.DIV: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),  # towards zero
    op.EQ: lambda a, b: int(a == b),
    op.NE: lambda a, b: int(a != b),
    op.LT: lambda a, b: int(a < b),
    op.LE: lambda a, b: int(a <= b),
    op.GT: lambda a, b: int(a > b),
    op.GE: lambda a, b: int(a >= b),
}
