"""Every unwinding instruction of EHABI32 section 10.3, in the order of its table: bytes, operations, row."""

from __future__ import annotations

import pytest

from testbed.contract.rows import AtRegister, Offset, RegisterPlus, Rule
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.formats.ehabi_texts import operations, undone
from unwinders.formats.ehabi import OperationBytes
from unwinders.formats.ehabi_rows import (
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
)


def sp(distance: int) -> RegisterPlus:
    return RegisterPlus("sp", distance)


def saved(**places: int) -> dict[str, Rule]:
    """Registers by their distance from the CFA."""
    return {name: Offset(distance) for name, distance in places.items()}


def run(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


# bytes, what they mean
OPERATIONS: list[tuple[str, tuple[EhabiOperation, ...]]] = [
    ("00", (MoveVsp(4),)),
    ("01", (MoveVsp(8),)),
    ("3f", (MoveVsp(0x100),)),
    ("40", (MoveVsp(-4),)),
    ("41", (MoveVsp(-8),)),
    ("7f", (MoveVsp(-0x100),)),
    # 1000iiii iiiiiiii: a mask from r4 to r15
    ("80 01", (Pop((4,)),)),
    ("80 80", (Pop((11,)),)),
    ("81 00", (Pop((12,)),)),
    ("84 00", (Pop((14,)),)),
    ("84 80", (Pop((11, 14)),)),
    ("88 08", (Pop((7, 15)),)),
    ("8f ff", (Pop(run(4, 12)),)),
    *((f"9{register:x}", (SetVsp(register),)) for register in (0, 4, 7, 11, 12, 14)),
    *((f"{0xA0 + n:02x}", (Pop(run(4, n + 1)),)) for n in range(8)),
    *((f"{0xA8 + n:02x}", (Pop((*run(4, n + 1), 14)),)) for n in range(8)),
    ("", ()),
    ("b0", ()),
    ("00 b0 b7 ff", (MoveVsp(4),)),  # what follows the finish is not looked at
    # 10110001 0000iiii: a mask from r0 to r3
    ("b1 01", (Pop((0,)),)),
    ("b1 08", (Pop((3,)),)),
    ("b1 0f", (Pop((0, 1, 2, 3)),)),
    # 10110010 uleb128. On the last two pyelftools 0.33 takes a byte too many, or one too few.
    ("b2 00", (MoveVsp(0x204),)),
    ("b2 01", (MoveVsp(0x208),)),
    ("b2 7f", (MoveVsp(0x400),)),
    ("b2 80 01", (MoveVsp(0x404),)),
    ("b2 ff ff ff ff 0f", (MoveVsp(0x4_0000_0200),)),
    ("b2 04 3f b0", (MoveVsp(532), MoveVsp(256))),
    ("b2 84 84 01 b0", (MoveVsp(68116),)),
    ("b3 82", (PopVfp(8, 3, fstmfdx=True),)),
    ("b3 f0 b3 0f", (PopVfp(15, 1, fstmfdx=True), PopVfp(0, 16, fstmfdx=True))),
    ("b4", (PopAuthenticationCode(),)),
    ("b5", (AuthenticateHere(),)),
    *((f"{0xB8 + n:02x}", (PopVfp(8, n + 1, fstmfdx=True),)) for n in range(8)),
    ("c8 03", (PopVfp(16, 4, fstmfdx=False),)),
    ("c8 f0 c8 0f", (PopVfp(31, 1, fstmfdx=False), PopVfp(16, 16, fstmfdx=False))),
    ("c9 82", (PopVfp(8, 3, fstmfdx=False),)),
    ("c9 ff", (PopVfp(15, 16, fstmfdx=False),)),  # remark d: it may reach beyond d15
    *((f"{0xD0 + n:02x}", (PopVfp(8, n + 1, fstmfdx=False),)) for n in range(8)),
]

# bytes, the CFA, where the caller's registers are, the register that gets the return address
ROWS: list[tuple[str, Rule, dict[str, Rule], str]] = [
    ("00", sp(4), {}, "lr"),
    ("3f", sp(0x100), {}, "lr"),
    ("7f", sp(-0x100), {}, "lr"),
    ("b0", sp(0), {}, "lr"),
    ("84 83", sp(16), saved(r4=-16, r5=-12, r11=-8, lr=-4), "lr"),
    ("8c 00", sp(8), saved(lr=-8, pc=-4), "pc"),
    # Remark b: sp is replaced behind the whole pop, so r14 lies beyond r13's word.
    ("86 00", AtRegister("sp", 0), {"lr": AtRegister("sp", 4)}, "lr"),
    *((f"00 9{n:x} 01", RegisterPlus(name, 8), dict[str, Rule](), "lr") for n, name in ((0, "r0"), (11, "r11"))),
    ("00 9e 01", RegisterPlus("lr", 8), {}, "lr"),
    ("a0", sp(4), saved(r4=-4), "lr"),
    ("a7", sp(32), saved(r4=-32, r5=-28, r6=-24, r7=-20, r8=-16, r9=-12, r10=-8, r11=-4), "lr"),
    ("a8", sp(8), saved(r4=-8, lr=-4), "lr"),
    ("b1 08", sp(4), saved(r3=-4), "lr"),
    ("b1 0f", sp(16), saved(r0=-16, r1=-12, r2=-8, r3=-4), "lr"),
    ("b3 82", sp(28), saved(d8=-28, d9=-20, d10=-12), "lr"),  # FSTMFDX leaves one more word
    ("b8", sp(12), saved(d8=-12), "lr"),
    ("c9 82", sp(24), saved(d8=-24, d9=-16, d10=-8), "lr"),
    ("d1", sp(16), saved(d8=-16, d9=-8), "lr"),
    # PACBTI on ARMv8-M keeps a code beside the return address, which stays as it is.
    ("b4 84 08", sp(12), saved(r7=-8, lr=-4), "lr"),
    ("00 b5 00", sp(8), {}, "lr"),
    # several in a row: each register keeps its own place, and a later place of one counts
    ("02 a0 01 84 00", sp(28), saved(r4=-16, lr=-4), "lr"),
    ("9b 41 84 83", RegisterPlus("r11", 8), saved(r4=-16, r5=-12, r11=-8, lr=-4), "lr"),
    ("a0 97 84 00", RegisterPlus("r7", 4), {"r4": AtRegister("sp", 0), "lr": Offset(-4)}, "lr"),
    ("a0 a0", sp(8), saved(r4=-4), "lr"),
]

# bytes, what is said of them
REFUSED: list[tuple[str, type[Exception], str]] = [
    ("80 00", NoUnwindInfo, r"\.ARM\.extab\+0x10 refuses"),
    *((text, UnsupportedRule, rf"\.ARM\.extab\+0x10: 0x{text} is reserved") for text in ("9d", "9f")),
    *((text, UnsupportedRule, "spare") for text in ("b1 00", "b1 10", "b1 1f", "b1 ff")),
    ("b3 f1", UnsupportedRule, "d15 to d16 are reserved"),
    *((text, UnsupportedRule, f"0x{text} is spare") for text in ("b6", "b7")),
    *((text, UnsupportedRule, "Wireless MMX") for text in ("c0", "c5", "c6 00", "c6 a3", "c7 00", "c7 01", "c7 10")),
    ("c8 f1", UnsupportedRule, "d31 to d32 are reserved"),
    *((f"{byte:02x}", UnsupportedRule, f"0x{byte:02x} is spare") for byte in (*range(0xCA, 0xD0), *range(0xD8, 0x100))),
    # cut off: told where the instruction starts
    *(
        ("00 00 " + text, MalformedTable, r"^\.ARM\.extab\+0x12: the entry ends")
        for text in ("80", "8f", "b1", "b2", "b2 80", "b3", "c6", "c7", "c8", "c9")
    ),
    ("b2 80 80 80 80 80 80 80 80 80 80 01", MalformedTable, "of 77 bits"),
    ("b2 80 80 80 80 80 80 80 80 80 02", MalformedTable, "of 70 bits"),  # 1 << 64
]


@pytest.mark.parametrize(("text", "meant"), OPERATIONS)
def test_bytes_mean_operations(text: str, meant: tuple[EhabiOperation, ...]) -> None:
    assert operations(text) == meant


@pytest.mark.parametrize(("text", "cfa", "registers", "returns_by"), ROWS)
def test_bytes_make_a_row(text: str, cfa: Rule, registers: dict[str, Rule], returns_by: str) -> None:
    assert undone(text) == (cfa, registers, returns_by)


@pytest.mark.parametrize(("text", "error", "says"), REFUSED)
def test_bytes_are_refused(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        operations(text)


def test_every_first_byte_is_an_operation_or_says_why_not() -> None:
    def kind(first: int) -> str:
        try:
            (operation,) = decode(OperationBytes("t", ((0, first), (4, 0x01))))[:1]
        except (UnsupportedRule, NoUnwindInfo) as error:
            return type(error).__name__
        return type(operation).__name__

    found = [kind(first) for first in range(256) if first != 0xB0]
    assert found.count("UnsupportedRule") == 2 + 2 + 8 + 6 + 40
    assert [found.count(name) for name in ("MoveVsp", "SetVsp", "Pop", "PopVfp")] == [129, 14, 33, 19]
