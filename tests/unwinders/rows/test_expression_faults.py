"""DWARF expressions without a value: what is malformed, what frames cannot use, and what has no end."""

from __future__ import annotations

import pytest

from testbed.trace import Memory
from testbed.words.errors import MalformedTable, UnknownRegister, UnreadableMemory, UnsupportedRule
from tests.unwinders.frames import X86_64, u
from tests.unwinders.rows.expressions import parse, value
from unwinders.rows.expression import ExpressionSteps, evaluate


def test_a_register_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownRegister, match="rbp"):
        value(b"\x76\x00")
    with pytest.raises(UnknownRegister, match="DWARF register 99"):
        value(b"\x92\x63\x00")


@pytest.mark.parametrize("size", [0, 9])
def test_deref_size_of_no_or_too_many_bytes_is_unsupported(size: int) -> None:
    with pytest.raises(UnsupportedRule, match="dereferences"):
        value(b"\x94" + bytes([size]), 0x8000)


def test_deref_of_unmapped_memory_names_the_address() -> None:
    with pytest.raises(UnreadableMemory) as raised:
        value(b"\x06", 0x9000)
    assert (raised.value.address, raised.value.size) == (0x9000, 8)


@pytest.mark.parametrize("code", [b"\x1b", b"\x1d"])
def test_division_by_zero_is_unsupported(code: bytes) -> None:
    with pytest.raises(UnsupportedRule, match="divides by zero"):
        value(code, 1, 0)


def test_an_endless_loop_is_unsupported() -> None:
    with pytest.raises(UnsupportedRule, match="does not end"):
        value(b"\x2f" + u(2, -3))


@pytest.mark.parametrize("left", [0, 1, 2, 17])
def test_the_expressions_of_a_stack_share_their_steps(left: int) -> None:
    operations = parse(b"\x31" + 15 * b"\x96")  # one step each, and two for looking at sixteen
    enough = ExpressionSteps(18)
    assert (evaluate(operations, X86_64, {}, Memory.of([]), steps=enough), enough.left) == (1, 0)
    with pytest.raises(UnsupportedRule, match="expressions of one stack"):
        evaluate(operations, X86_64, {}, Memory.of([]), steps=ExpressionSteps(left))


def test_an_endless_stack_is_unsupported() -> None:
    with pytest.raises(UnsupportedRule, match="more than 256 values"):
        value(b"\x31\x2f" + u(2, -4))


@pytest.mark.parametrize("code", [b"", b"\x13", b"\x22", b"\x31\x22", b"\x06", b"\x17", b"\x28\0\0"], ids=bytes.hex)
def test_taking_from_an_empty_stack_is_unsupported(code: bytes) -> None:
    with pytest.raises(UnsupportedRule, match="empty stack"):
        value(code)


@pytest.mark.parametrize("code", [b"\x12", b"\x31\x14", b"\x31\x15\x01"], ids=["dup", "over", "pick"])
def test_picking_below_the_stack_is_unsupported(code: bytes) -> None:
    with pytest.raises(UnsupportedRule, match="picks entry"):
        value(code)


@pytest.mark.parametrize(
    "code",
    [
        "18",
        "50",
        "9003",
        "9100",
        "9308",
        "9504",
        "97",
        "980000",
        "9b",
        "9c",
        "9d0800",
        "9e01ff",
        "9f",
        "a101",
        "a30155",
        "a50102",
        "e0",
    ],
)
def test_operations_that_need_more_than_a_frame_are_unsupported(code: str) -> None:
    """xderef, locations, calls, thread-local storage, entry values, and call_frame_cfa (section 6.4.2)."""
    with pytest.raises(UnsupportedRule, match="no meaning in call frame information"):
        value(bytes.fromhex(code), 1, 2)


@pytest.mark.parametrize("opcode", [0x00, 0x01, 0x07, 0xAA, 0xFF])
def test_an_operation_that_does_not_exist_is_malformed_at_its_offset(opcode: int) -> None:
    with pytest.raises(MalformedTable, match=f"no DWARF operation {opcode:#04x}") as raised:
        parse(b"\x30" + bytes([opcode]))
    assert raised.value.offset == 1


@pytest.mark.parametrize(
    "code", [b"\x03\0", b"\x08", b"\x10\x80", b"\x92\x01", b"\x9e\x05\0", b"\x28\0"], ids=bytes.hex
)
def test_operands_that_are_cut_off_are_malformed(code: bytes) -> None:
    with pytest.raises(MalformedTable, match="bytes are needed"):
        parse(code)


@pytest.mark.parametrize("distance", [-4, -2, 2, 100])
def test_a_jump_to_where_no_operation_starts_is_malformed(distance: int) -> None:
    with pytest.raises(MalformedTable, match="jumps to") as raised:
        parse(b"\x2f" + u(2, distance) + b"\x0a\0\0")
    assert raised.value.offset == 0


def test_an_endless_expression_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="more than 4096"):
        parse(b"\x96" * 4097)
