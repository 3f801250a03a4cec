"""Every DWARF operation that call frame information can use, from its bytes to its value (DWARF 5, section 2.5.1)."""

from __future__ import annotations

import pytest

from testbed.contract.rows import Operation
from testbed.words.errors import UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, X86_64, sleb, u, uleb
from tests.unwinders.rows.expressions import parse, value

ALL_ONES = 2**64 - 1


def test_lit() -> None:
    assert [value(bytes([code])) for code in range(0x30, 0x50)] == list(range(32))


def test_addr_moves_with_the_image() -> None:
    assert value(b"\x03" + u(8, 0x1234), bias=0x11000) == 0x12234
    assert value(b"\x03" + u(4, 0x1234), arch=ARM32) == 0x1234


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"\x08\xfe", 0xFE),
        (b"\x09\xfe", ALL_ONES - 1),
        (b"\x0a" + u(2, 0xFFFE), 0xFFFE),
        (b"\x0b" + u(2, -2), ALL_ONES - 1),
        (b"\x0c" + u(4, 0xFFFF_FFFE), 0xFFFF_FFFE),
        (b"\x0d" + u(4, -2), ALL_ONES - 1),
        (b"\x0e" + u(8, ALL_ONES - 1), ALL_ONES - 1),
        (b"\x0f" + u(8, -2), ALL_ONES - 1),
        (b"\x10" + uleb(2**40), 2**40),
        (b"\x11" + sleb(-2), ALL_ONES - 1),
    ],
    ids=["const1u", "const1s", "const2u", "const2s", "const4u", "const4s", "const8u", "const8s", "constu", "consts"],
)
def test_constants(code: bytes, expected: int) -> None:
    assert value(code) == expected


def test_constants_are_cut_to_the_word() -> None:
    assert value(b"\x0e" + u(8, 0x1_0000_0002), arch=ARM32) == 2


def test_breg() -> None:
    registers = {name: 0x100 * i for i, name in X86_64.by_dwarf.items() if i < 17}
    for number in range(17):
        assert value(bytes([0x70 + number]) + sleb(5), registers=registers) == 0x100 * number + 5
    assert value(b"\x77" + sleb(-8), registers={"rsp": 4}) == ALL_ONES - 3
    assert value(b"\x8f" + sleb(16), arch=ARM64, registers={"sp": 0x100}) == 0x110  # the last one: breg31


def test_bregx() -> None:
    assert value(b"\x92" + uleb(264) + sleb(-1), arch=ARM32, registers={"d8": 8}) == 7


def test_deref() -> None:
    assert value(b"\x06", 0x8000) == 0x0807060504030201
    assert value(b"\x06", 0x8000, arch=ARM32) == 0x04030201


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_deref_size(size: int) -> None:
    assert value(b"\x94" + bytes([size]), 0x8000) == int.from_bytes(bytes(range(1, size + 1)), "little")


def stack(code: bytes, *initial: int) -> list[int]:
    """The whole stack after ``code``, top first: its top is shown after dropping one more each time."""
    shown = []
    for depth in range(len(initial) + 2):
        try:
            shown.append(value(code + b"\x13" * depth, *initial))
        except UnsupportedRule:
            break
    return shown


def test_dup() -> None:
    assert stack(b"\x12", 1, 2) == [2, 2, 1]


def test_drop() -> None:
    assert stack(b"\x13", 1, 2) == [1]


def test_over() -> None:
    assert stack(b"\x14", 1, 2) == [1, 2, 1]


def test_pick() -> None:
    assert stack(b"\x15\x02", 1, 2, 3) == [1, 3, 2, 1]


def test_swap() -> None:
    assert stack(b"\x16", 1, 2) == [1, 2]


def test_rot() -> None:
    """The top becomes third, the second top, the third second."""
    assert stack(b"\x17", 1, 2, 3) == [2, 1, 3]


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


def test_plus_uconst_wraps_at_the_word() -> None:
    assert value(b"\x23" + uleb(300), 5) == 305
    assert value(b"\x23\x01", 2**32 - 1, arch=ARM32) == 0


def test_skip_forwards_over_an_operation() -> None:
    assert value(b"\x31\x2f" + u(2, 1) + b"\x32") == 1


def test_bra_jumps_where_the_top_is_not_zero() -> None:
    code = b"\x28" + u(2, 4) + b"\x31\x2f" + u(2, 1) + b"\x32"
    assert (value(code, 0), value(code, 1)) == (1, 2)


def test_a_loop_runs_until_its_condition_fails() -> None:
    """sum = 0, n = 5; do { sum += n; n -= 1 } while (n)"""
    code = b"\x12\x17\x22\x16\x31\x1c\x12\x28" + u(2, -10) + b"\x13"
    assert value(code, 0, 5) == 15


def test_nop() -> None:
    assert value(b"\x96\x31\x96") == 1


def test_the_plt_expression_of_binutils() -> None:
    """CFA = rsp + 8 + ((rip & 15) >= 11) * 8: what ld writes for `.plt`."""
    code = b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"
    assert value(code, registers={"rsp": 0x100, "rip": 0x1006}) == 0x108
    assert value(code, registers={"rsp": 0x100, "rip": 0x100B}) == 0x110


def test_a_jump_to_the_end_is_the_end() -> None:
    assert value(b"\x2f" + u(2, 3) + b"\x0a\0\0", 9) == 9


def test_operations_know_their_offset_and_operands() -> None:
    assert parse(b"\x77\x08\x9e\x02\xaa\xbb\x06") == (
        Operation(0x77, (8,), 0),
        Operation(0x9E, (2, 0xAA, 0xBB), 2),
        Operation(0x06, (), 6),
    )
