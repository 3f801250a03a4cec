"""Every DWARF operation that call frame information can use, from its bytes to its value (DWARF 5, section 2.5.1)."""

from collections.abc import Mapping
from typing import Any

import pytest

from testbed.contract.rows import Operation, RegisterPlus
from testbed.trace import Memory
from testbed.words.errors import MalformedTable, UnknownRegister, UnreadableMemory, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, sleb, u, uleb
from tests.unwinders.rows.expressions import parse, value
from unwinders.rows.expression import ExpressionSteps, evaluate, sum_at

ALL_ONES = 2**64 - 1


PLT = b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"  # rsp + 8 + ((rip & 15) >= 11) * 8: what ld writes for `.plt`
OVER = b"\x31\x2f" + u(2, 1) + b"\x32"  # lit1, skip over lit2

# operations, the stack before, the value on top of it after; and what else is there
VALUES: list[tuple[bytes, tuple[int, ...], int, Mapping[str, Any]]] = [
    *((bytes([0x30 + n]), (), n, {}) for n in range(32)),  # lit0 to lit31
    (b"\x03" + u(8, 0x1234), (), 0x12234, {"bias": 0x11000}),  # addr moves with the image
    (b"\x03" + u(4, 0x1234), (), 0x1234, {"arch": ARM32}),
    # const1u to const8s, constu, consts: cut to the word
    (b"\x08\xfe", (), 0xFE, {}),
    (b"\x09\xfe", (), ALL_ONES - 1, {}),
    (b"\x0a" + u(2, 0xFFFE), (), 0xFFFE, {}),
    (b"\x0b" + u(2, -2), (), ALL_ONES - 1, {}),
    (b"\x0c" + u(4, 0xFFFF_FFFE), (), 0xFFFF_FFFE, {}),
    (b"\x0d" + u(4, -2), (), ALL_ONES - 1, {}),
    (b"\x0e" + u(8, ALL_ONES - 1), (), ALL_ONES - 1, {}),
    (b"\x0f" + u(8, -2), (), ALL_ONES - 1, {}),
    (b"\x10" + uleb(2**40), (), 2**40, {}),
    (b"\x11" + sleb(-2), (), ALL_ONES - 1, {}),
    (b"\x0e" + u(8, 0x1_0000_0002), (), 2, {"arch": ARM32}),
    # breg0 to breg31, bregx
    *((bytes([0x70 + n]) + sleb(5), (), 0x105, {"registers": {X86_64.by_dwarf[n]: 0x100}}) for n in range(17)),
    (b"\x77" + sleb(-8), (), ALL_ONES - 3, {"registers": {"rsp": 4}}),
    (b"\x8f" + sleb(16), (), 0x110, {"arch": ARM64, "registers": {"sp": 0x100}}),
    (b"\x92" + uleb(264) + sleb(-1), (), 7, {"arch": ARM32, "registers": {"d8": 8}}),
    # deref, deref_size
    (b"\x06", (0x8000,), 0x0807060504030201, {}),
    (b"\x06", (0x8000,), 0x04030201, {"arch": ARM32}),
    *((b"\x94" + bytes([n]), (0x8000,), int.from_bytes(bytes(range(1, n + 1)), "little"), {}) for n in (1, 2, 4, 8)),
    # plus_uconst wraps at the word
    (b"\x23" + uleb(300), (5,), 305, {}),
    (b"\x23\x01", (2**32 - 1,), 0, {"arch": ARM32}),
    # skip, bra: where the top is not zero
    (OVER, (), 1, {}),
    *((b"\x28" + u(2, 4) + OVER, (top,), expected, {}) for top, expected in ((0, 1), (1, 2))),
    (b"\x2f" + u(2, 3) + b"\x0a\0\0", (9,), 9, {}),  # a jump to the end is the end
    # sum = 0, n = 5; do { sum += n; n -= 1 } while (n)
    (b"\x12\x17\x22\x16\x31\x1c\x12\x28" + u(2, -10) + b"\x13", (0, 5), 15, {}),
    (b"\x96\x31\x96", (), 1, {}),  # nop
    *((PLT, (), 0x108 + 8 * far, {"registers": {"rsp": 0x100, "rip": 0x1006 + 5 * far}}) for far in (0, 1)),
]


@pytest.mark.parametrize(("code", "before", "expected", "given"), VALUES)
def test_operations_leave_a_value(
    code: bytes, before: tuple[int, ...], expected: int, given: Mapping[str, Any]
) -> None:
    assert value(code, *before, **given) == expected


def stack(code: bytes, *initial: int) -> list[int]:
    """The whole stack after ``code``, top first: its top is shown after dropping one more each time."""
    shown = []
    for depth in range(len(initial) + 2):
        try:
            shown.append(value(code + b"\x13" * depth, *initial))
        except UnsupportedRule:
            break
    return shown


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        (b"\x12", (1, 2), [2, 2, 1]),  # dup
        (b"\x13", (1, 2), [1]),  # drop
        (b"\x14", (1, 2), [1, 2, 1]),  # over
        (b"\x15\x02", (1, 2, 3), [1, 3, 2, 1]),  # pick
        (b"\x16", (1, 2), [1, 2]),  # swap
        (b"\x17", (1, 2, 3), [2, 1, 3]),  # rot: the top becomes third, the second top, the third second
    ],
)
def test_operations_on_the_stack(code: bytes, before: tuple[int, ...], after: list[int]) -> None:
    assert stack(code, *before) == after


@pytest.mark.parametrize(
    ("code", "operands", "expected"),
    [
        (0x19, (5,), 5),
        (0x19, (-5,), 5),
        (0x1A, (0b1100, 0b1010), 0b1000),
        (0x1B, (7, 2), 3),
        (0x1B, (-7, 2), -3),
        (0x1B, (7, -2), -3),
        (0x1C, (5, 7), -2),
        (0x1D, (7, 3), 1),
        (0x1D, (-1, 10), (2**64 - 1) % 10),
        (0x1E, (2**63, 2), 0),
        (0x1E, (-3, 5), -15),
        (0x1F, (3,), -3),
        (0x20, (0,), -1),
        (0x21, (0b1100, 0b1010), 0b1110),
        (0x22, (-1, 1), 0),
        (0x24, (1, 4), 16),
        (0x24, (1, 64), 0),
        (0x24, (1, -1), 0),
        (0x25, (-1, 60), 15),
        (0x25, (-1, 64), 0),
        (0x26, (-16, 2), -4),
        (0x26, (-16, 200), -1),
        (0x26, (16, 2), 4),
        (0x27, (0b1100, 0b1010), 0b0110),
        (0x29, (1, 1), 1),
        (0x29, (1, 2), 0),
        (0x29, (2, 1), 0),
        (0x2A, (-1, 1), 0),
        (0x2A, (1, 1), 1),
        (0x2A, (1, -1), 1),
        (0x2B, (1, -1), 1),
        (0x2B, (1, 1), 0),
        (0x2B, (-1, 1), 0),
        (0x2C, (-1, 1), 1),
        (0x2C, (2, 1), 0),
        (0x2C, (1, 1), 1),
        (0x2D, (-1, 1), 1),
        (0x2D, (1, 1), 0),
        (0x2D, (1, -1), 0),
        (0x2E, (1, 2), 1),
        (0x2E, (2, 2), 0),
        (0x2E, (2, 1), 1),
    ],
)
def test_arithmetic_logic_and_comparison(code: int, operands: tuple[int, ...], expected: int) -> None:
    """Values wrap at the word; division, comparison and shra are signed, mod and shr are not."""
    assert value(bytes([code]), *(operand % 2**64 for operand in operands)) == expected % 2**64


def test_operations_know_their_offset_and_operands() -> None:
    assert parse(b"\x77\x08\x9e\x02\xaa\xbb\x06") == (
        Operation(0x77, (8,), 0),
        Operation(0x9E, (2, 0xAA, 0xBB), 2),
        Operation(0x06, (), 6),
    )


@pytest.mark.parametrize(
    ("code", "pc", "distance"),
    [
        (PLT, 0x100A, 8),
        (PLT, 0x100B, 16),
        (b"\x77\x7f\x31\x22", START, None),  # rsp - 1 + 1: not upward
        (b"\x76\x08\x31\x22", START, None),  # rbp + 8 + 1: of another register nothing is said of going back
        (b"\x77\x08\x31\x32\x22", START, None),  # 1 + 2: SP is below it
        (b"\x77\x08\x31\x1e", START, None),  # times
        (b"\x77\x08\x76\x00\x22", START, None),  # another register
        (b"\x77\x08\x31\x06\x22", START, None),  # memory
        (b"\x77\x08\x12\x22", START, None),  # twice
        (b"\x77\x08\x2f\x00\x00\x31\x22", START, None),  # a jump
        (b"\x77\x08", START, None),
    ],
)
def test_what_counts_upward_from_sp_is_a_rule_at_each_pc(code: bytes, pc: int, distance: int | None) -> None:
    expected = None if distance is None else RegisterPlus("rsp", distance)
    assert sum_at(parse(code), X86_64, pc) == expected


# DWARF expressions without a value: what is malformed, what frames cannot use, and what has no end.

# xderef, locations, calls, thread-local storage, entry values, and call_frame_cfa (section 6.4.2)
BEYOND_A_FRAME = (
    *("18", "50", "9003", "9100", "9308", "9504", "97", "980000", "9b", "9c", "9d0800"),
    *("9e01ff", "9f", "a101", "a30155", "a50102", "e0"),
)

# operations, the stack before, what is raised, what it tells
WITHOUT_A_VALUE: list[tuple[bytes, tuple[int, ...], type[Exception], str]] = [
    (b"\x76\x00", (), UnknownRegister, "rbp"),
    (b"\x92\x63\x00", (), UnknownRegister, "DWARF register 99"),
    *((b"\x94" + bytes([size]), (0x8000,), UnsupportedRule, "dereferences") for size in (0, 9)),
    (b"\x06", (0x9000,), UnreadableMemory, "8 bytes.* 0x9000"),
    *((code, (1, 0), UnsupportedRule, "divides by zero") for code in (b"\x1b", b"\x1d")),
    (b"\x2f" + u(2, -3), (), UnsupportedRule, "does not end"),
    (b"\x31\x2f" + u(2, -4), (), UnsupportedRule, "more than 256 values"),
    *(
        (code, (), UnsupportedRule, "empty stack")
        for code in (b"", b"\x13", b"\x22", b"\x31\x22", b"\x06", b"\x17", b"\x28\0\0")
    ),
    *((code, (), UnsupportedRule, "picks entry") for code in (b"\x12", b"\x31\x14", b"\x31\x15\x01")),
    *((bytes.fromhex(c), (1, 2), UnsupportedRule, "no meaning in call frame information") for c in BEYOND_A_FRAME),
]

# bytes, what is told, the offset of the operation
MALFORMED: list[tuple[bytes, str, int | None]] = [
    *((bytes([0x30, opcode]), f"no DWARF operation {opcode:#04x}", 1) for opcode in (0x00, 0x01, 0x07, 0xAA, 0xFF)),
    # operands that are cut off
    *(
        (code, "bytes are needed", None)
        for code in (b"\x03\0", b"\x08", b"\x10\x80", b"\x92\x01", b"\x9e\x05\0", b"\x28\0")
    ),
    # where no operation starts
    *((b"\x96\x2f" + u(2, distance) + b"\x0a\0\0", "jumps to", 1) for distance in (-5, -2, 2, 100)),
    (b"\x96" * 4097, "more than 4096", None),
]


@pytest.mark.parametrize(("code", "before", "error", "told"), WITHOUT_A_VALUE)
def test_an_expression_without_a_value(code: bytes, before: tuple[int, ...], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        value(code, *before)


@pytest.mark.parametrize(("code", "told", "offset"), MALFORMED)
def test_an_expression_is_malformed(code: bytes, told: str, offset: int | None) -> None:
    with pytest.raises(MalformedTable, match=told) as raised:
        parse(code)
    assert offset is None or raised.value.offset == offset


@pytest.mark.parametrize("left", [0, 1, 2, 17])
def test_the_expressions_of_a_stack_share_their_steps(left: int) -> None:
    operations = parse(b"\x31" + 15 * b"\x96")  # one step each, and two for looking at sixteen
    enough = ExpressionSteps(18)
    assert (evaluate(operations, X86_64, {}, Memory.of([]), steps=enough), enough.left) == (1, 0)
    with pytest.raises(UnsupportedRule, match="expressions of one stack"):
        evaluate(operations, X86_64, {}, Memory.of([]), steps=ExpressionSteps(left))
