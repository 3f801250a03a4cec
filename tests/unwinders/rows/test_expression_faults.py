"""DWARF expressions without a value: what is malformed, what frames cannot use, and what has no end."""

from __future__ import annotations

import pytest

from testbed.trace import Memory
from testbed.words.errors import MalformedTable, UnknownRegister, UnreadableMemory, UnsupportedRule
from tests.unwinders.frames import X86_64, u
from tests.unwinders.rows.expressions import parse, value
from unwinders.rows.expression import ExpressionSteps, evaluate

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
