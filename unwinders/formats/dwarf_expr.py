"""DWARF expressions as data: bytes to operations. Nothing is evaluated here.

Source: DWARF 5, sections 2.5, 2.6 and 7.7.1. Every operation of the standard that can be told apart without
debugging information decodes; which of them mean something in call frame information is the evaluator's matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from testbed.contract.rows import Operation
from unwinders.formats.reader import Reader

MAX_OPERATIONS = 4096

ADDR, DEREF = 0x03, 0x06
CONST1U, CONST1S, CONST2U, CONST2S, CONST4U, CONST4S, CONST8U, CONST8S, CONSTU, CONSTS = range(0x08, 0x12)
DUP, DROP, OVER, PICK, SWAP, ROT, XDEREF, ABS, AND, DIV, MINUS, MOD, MUL, NEG, NOT, OR, PLUS = range(0x12, 0x23)
PLUS_UCONST, SHL, SHR, SHRA, XOR, BRA, EQ, GE, GT, LE, LT, NE, SKIP = range(0x23, 0x30)
LIT0, LIT31, REG0, REG31, BREG0, BREG31 = 0x30, 0x4F, 0x50, 0x6F, 0x70, 0x8F
REGX, FBREG, BREGX, PIECE, DEREF_SIZE, XDEREF_SIZE, NOP = range(0x90, 0x97)
CALL_FRAME_CFA = 0x9C

_JUMP_BYTES = 3  # DW_OP_skip and DW_OP_bra: the opcode and a signed 16-bit distance

# Operands by opcode, in order: a fixed size in bytes ("s" signed), "uleb", "sleb", "word", or a counted "block".
_OPERANDS: Mapping[int, tuple[str, ...]] = {
    ADDR: ("word",),
    CONST1U: ("1",),
    CONST1S: ("1s",),
    CONST2U: ("2",),
    CONST2S: ("2s",),
    CONST4U: ("4",),
    CONST4S: ("4s",),
    CONST8U: ("8",),
    CONST8S: ("8s",),
    CONSTU: ("uleb",),
    CONSTS: ("sleb",),
    PICK: ("1",),
    PLUS_UCONST: ("uleb",),
    BRA: ("2s",),
    SKIP: ("2s",),
    **dict.fromkeys(range(BREG0, BREG31 + 1), ("sleb",)),
    REGX: ("uleb",),
    FBREG: ("sleb",),
    BREGX: ("uleb", "sleb"),
    PIECE: ("uleb",),
    DEREF_SIZE: ("1",),
    XDEREF_SIZE: ("1",),
    0x98: ("2",),  # call2
    0x99: ("4",),  # call4
    0x9D: ("uleb", "uleb"),  # bit_piece
    0x9E: ("block",),  # implicit_value
    0xA1: ("uleb",),  # addrx
    0xA2: ("uleb",),  # constx
    0xA3: ("block",),  # entry_value
    0xA5: ("uleb", "uleb"),  # regval_type
    0xA6: ("1", "uleb"),  # deref_type
    0xA7: ("1", "uleb"),  # xderef_type
    0xA8: ("uleb",),  # convert
    0xA9: ("uleb",),  # reinterpret
}
_WITHOUT_OPERANDS = frozenset(
    {DEREF, DUP, DROP, *range(SWAP, PLUS + 1), OVER, *range(SHL, XOR + 1), *range(EQ, NE + 1), NOP}
    | {*range(LIT0, LIT31 + 1), *range(REG0, REG31 + 1)}
    | {0x97, 0x9B, CALL_FRAME_CFA, 0x9F, 0xE0}  # push_object_address, form_tls_address (and GNU's), stack_value
)


def parse_expression(reader: Reader, word: int) -> tuple[Operation, ...]:
    """All operations of the expression that ``reader`` covers; offsets count from its first byte.

    A block operand becomes its length and its bytes. Raises MalformedTable for an operation that does not exist,
    for operands that run off the end, and for a jump to where no operation starts.
    """
    start = reader.offset
    reader.spend("entries", 1 + reader.left // 4)
    operations: list[Operation] = []
    while reader.left:
        at = reader.offset
        opcode = reader.unsigned(1)
        if opcode not in _OPERANDS and opcode not in _WITHOUT_OPERANDS:
            raise reader.error(f"there is no DWARF operation {opcode:#04x}", at=at)
        operands: list[int] = []
        for kind in _OPERANDS.get(opcode, ()):
            operands += _operand(reader, kind, word)
        operations.append(Operation(opcode, tuple(operands), at - start))
        if len(operations) > MAX_OPERATIONS:
            raise reader.error(f"an expression has more than {MAX_OPERATIONS} operations", at=at)
    targets = {operation.offset for operation in operations} | {reader.end - start}
    for operation in operations:
        if operation.opcode in (BRA, SKIP) and jump_target(operation) not in targets:
            raise reader.error(
                f"a DWARF expression jumps to its byte {jump_target(operation)}, where no operation starts",
                at=start + operation.offset,
            )
    return tuple(operations)


def _operand(reader: Reader, kind: str, word: int) -> tuple[int, ...]:
    if kind == "uleb":
        return (reader.uleb(),)
    if kind == "sleb":
        return (reader.sleb(),)
    if kind == "word":
        return (reader.unsigned(word),)
    if kind == "block":
        length = reader.uleb()
        return (length, *reader.take(length))
    size = int(kind[0])
    return (reader.signed(size) if kind.endswith("s") else reader.unsigned(size),)


def jump_target(operation: Operation) -> int:
    """Where DW_OP_skip and DW_OP_bra go, as an offset in the expression; its length is the end.

    ``target = offset of the operation + 3 + operand`` (DWARF 5, section 2.5.1.5).
    """
    return operation.offset + _JUMP_BYTES + operation.operands[0]
