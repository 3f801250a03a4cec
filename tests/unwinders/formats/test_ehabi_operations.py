"""Every unwinding instruction of EHABI32 section 10.3, in the order of its table: bytes, operation, row."""

from __future__ import annotations

import pytest

from testbed.contract.rows import AtCfa, AtRegister, RegisterPlus
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.formats.ehabi_texts import operations, undone
from unwinders.formats.ehabi import OperationBytes
from unwinders.formats.ehabi_operations import (
    AuthenticateHere,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
)

# The table, from its top


@pytest.mark.parametrize(("text", "distance"), [("00", 4), ("01", 8), ("3f", 0x100)])
def test_00xxxxxx_moves_vsp_up(text: str, distance: int) -> None:
    assert operations(text) == (MoveVsp(distance),)
    assert undone(text) == (RegisterPlus("sp", distance), {}, "lr")


@pytest.mark.parametrize(("text", "distance"), [("40", -4), ("41", -8), ("7f", -0x100)])
def test_01xxxxxx_moves_vsp_down(text: str, distance: int) -> None:
    assert operations(text) == (MoveVsp(distance),)
    assert undone(text) == (RegisterPlus("sp", distance), {}, "lr")


def test_10000000_00000000_refuses_to_unwind() -> None:
    with pytest.raises(NoUnwindInfo, match=r"\.ARM\.extab\+0x10 refuses"):
        operations("80 00")


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("80 01", (4,)),
        ("80 80", (11,)),
        ("81 00", (12,)),
        ("84 00", (14,)),
        ("84 80", (11, 14)),
        ("88 08", (7, 15)),
        ("8f ff", tuple(range(4, 16))),
    ],
)
def test_1000iiii_iiiiiiii_pops_under_a_mask_from_r4_to_r15(text: str, registers: tuple[int, ...]) -> None:
    assert operations(text) == (Pop(registers),)


def test_popped_registers_lie_in_ascending_order() -> None:
    cfa, rules, return_address = undone("84 83")
    assert cfa == RegisterPlus("sp", 16)
    assert rules == {"r4": AtCfa(-16), "r5": AtCfa(-12), "r11": AtCfa(-8), "lr": AtCfa(-4)}
    assert return_address == "lr"


def test_a_popped_r15_is_the_return_address() -> None:
    assert undone("8c 00") == (RegisterPlus("sp", 8), {"lr": AtCfa(-8), "pc": AtCfa(-4)}, "pc")


def test_a_popped_r13_replaces_vsp_after_the_whole_pop() -> None:
    """Remark b: r14 is found beyond r13's word, and the caller's sp is what r13's word says."""
    cfa, rules, _ = undone("86 00")
    assert cfa == AtRegister("sp", 0)
    assert rules == {"lr": AtRegister("sp", 4)}


@pytest.mark.parametrize("register", [0, 4, 7, 11, 12, 14])
def test_1001nnnn_takes_vsp_from_a_register(register: int) -> None:
    name = "lr" if register == 14 else f"r{register}"
    assert operations(f"9{register:x}") == (SetVsp(register),)
    assert undone(f"00 9{register:x} 01")[0] == RegisterPlus(name, 8)


@pytest.mark.parametrize("text", ["9d", "9f"])
def test_10011101_and_10011111_are_reserved(text: str) -> None:
    with pytest.raises(UnsupportedRule, match=rf"\.ARM\.extab\+0x10: 0x{text} is reserved"):
        operations(text)


@pytest.mark.parametrize("count", range(8))
def test_10100nnn_pops_from_r4(count: int) -> None:
    assert operations(f"{0xA0 + count:02x}") == (Pop(tuple(range(4, 5 + count))),)
    assert undone(f"{0xA0 + count:02x}")[0] == RegisterPlus("sp", 4 * (count + 1))


@pytest.mark.parametrize("count", range(8))
def test_10101nnn_pops_from_r4_and_r14(count: int) -> None:
    assert operations(f"{0xA8 + count:02x}") == (Pop((*range(4, 5 + count), 14)),)
    assert undone(f"{0xA8 + count:02x}")[1]["lr"] == AtCfa(-4)


def test_10110000_finishes() -> None:
    assert operations("00 b0 b7 ff") == (MoveVsp(4),), "what follows is not looked at"
    assert operations("b0") == operations("") == ()
    assert undone("b0") == (RegisterPlus("sp", 0), {}, "lr")


@pytest.mark.parametrize(("text", "registers"), [("b1 01", (0,)), ("b1 08", (3,)), ("b1 0f", (0, 1, 2, 3))])
def test_10110001_0000iiii_pops_under_a_mask_from_r0_to_r3(text: str, registers: tuple[int, ...]) -> None:
    assert operations(text) == (Pop(registers),)
    assert undone(text)[0] == RegisterPlus("sp", 4 * len(registers))


@pytest.mark.parametrize("text", ["b1 00", "b1 10", "b1 1f", "b1 ff"])
def test_10110001_otherwise_is_spare(text: str) -> None:
    with pytest.raises(UnsupportedRule, match="spare"):
        operations(text)


@pytest.mark.parametrize(
    ("text", "distance"),
    [("b2 00", 0x204), ("b2 01", 0x208), ("b2 7f", 0x400), ("b2 80 01", 0x404), ("b2 ff ff ff ff 0f", 0x4_0000_0200)],
)
def test_10110010_moves_vsp_up_by_an_uleb128(text: str, distance: int) -> None:
    assert operations(text) == (MoveVsp(distance),)


def test_the_uleb128_ends_where_its_top_bit_says() -> None:
    """Two inputs on which pyelftools 0.33 goes wrong: it takes a byte too many, or one too few."""
    assert operations("b2 04 3f b0") == (MoveVsp(532), MoveVsp(256))
    assert operations("b2 84 84 01 b0") == (MoveVsp(68116),)


def test_10110011_sssscccc_pops_vfp_saved_by_fstmfdx() -> None:
    assert operations("b3 82") == (PopVfp(8, 3, fstmfdx=True),)
    cfa, rules, _ = undone("b3 82")
    assert cfa == RegisterPlus("sp", 3 * 8 + 4), "FSTMFDX leaves one more word"
    assert rules == {"d8": AtCfa(-28), "d9": AtCfa(-20), "d10": AtCfa(-12)}


def test_fstmfdx_knows_d0_to_d15() -> None:
    assert operations("b3 f0 b3 0f") == (PopVfp(15, 1, fstmfdx=True), PopVfp(0, 16, fstmfdx=True))
    with pytest.raises(UnsupportedRule, match="d15 to d16 are reserved"):
        operations("b3 f1")


def test_10110100_pops_the_authentication_code() -> None:
    """Code built with PACBTI on ARMv8-M keeps it beside the return address, which stays as it is."""
    assert operations("b4") == (PopAuthenticationCode(),)
    assert undone("b4 84 08") == (RegisterPlus("sp", 12), {"r7": AtCfa(-8), "lr": AtCfa(-4)}, "lr")


def test_10110101_moves_nothing() -> None:
    assert operations("b5") == (AuthenticateHere(),)
    assert undone("00 b5 00")[0] == RegisterPlus("sp", 8)


@pytest.mark.parametrize("text", ["b6", "b7"])
def test_1011011n_is_spare(text: str) -> None:
    with pytest.raises(UnsupportedRule, match=f"0x{text} is spare"):
        operations(text)


@pytest.mark.parametrize("count", range(8))
def test_10111nnn_pops_vfp_from_d8_saved_by_fstmfdx(count: int) -> None:
    assert operations(f"{0xB8 + count:02x}") == (PopVfp(8, count + 1, fstmfdx=True),)
    assert undone(f"{0xB8 + count:02x}")[0] == RegisterPlus("sp", 8 * (count + 1) + 4)


@pytest.mark.parametrize("text", ["c0", "c5", "c6 00", "c6 a3", "c7 00", "c7 01", "c7 0f", "c7 10"])
def test_11000nnn_is_wireless_mmx_or_spare(text: str) -> None:
    with pytest.raises(UnsupportedRule, match="Wireless MMX"):
        operations(text)


def test_11001000_sssscccc_pops_from_d16() -> None:
    assert operations("c8 03") == (PopVfp(16, 4, fstmfdx=False),)
    assert operations("c8 f0 c8 0f") == (PopVfp(31, 1, fstmfdx=False), PopVfp(16, 16, fstmfdx=False))
    with pytest.raises(UnsupportedRule, match="d31 to d32 are reserved"):
        operations("c8 f1")


def test_11001001_sssscccc_pops_vfp_saved_by_vpush() -> None:
    assert operations("c9 82") == (PopVfp(8, 3, fstmfdx=False),)
    cfa, rules, _ = undone("c9 82")
    assert (cfa, rules) == (RegisterPlus("sp", 24), {"d8": AtCfa(-24), "d9": AtCfa(-16), "d10": AtCfa(-8)})


def test_more_than_sixteen_registers_are_one_run() -> None:
    """Remark d: D[ssss]-D[ssss+cccc] may reach beyond d15."""
    assert operations("c9 ff") == (PopVfp(15, 16, fstmfdx=False),)


@pytest.mark.parametrize("text", [f"{byte:02x}" for byte in range(0xCA, 0xD0)])
def test_11001yyy_is_spare(text: str) -> None:
    with pytest.raises(UnsupportedRule, match=f"0x{text} is spare"):
        operations(text)


@pytest.mark.parametrize("count", range(8))
def test_11010nnn_pops_vfp_from_d8_saved_by_vpush(count: int) -> None:
    assert operations(f"{0xD0 + count:02x}") == (PopVfp(8, count + 1, fstmfdx=False),)
    assert undone(f"{0xD0 + count:02x}")[0] == RegisterPlus("sp", 8 * (count + 1))


@pytest.mark.parametrize("text", [f"{byte:02x}" for byte in range(0xD8, 0x100)])
def test_11xxxyyy_is_spare(text: str) -> None:
    with pytest.raises(UnsupportedRule, match=f"0x{text} is spare"):
        operations(text)


def test_every_first_byte_is_an_operation_or_says_why_not() -> None:
    def kind(first: int) -> str:
        try:
            (operation,) = decode(OperationBytes("t", ((0, first), (4, 0x01))))[:1]
        except (UnsupportedRule, NoUnwindInfo) as error:
            return type(error).__name__
        return type(operation).__name__

    found = {first: kind(first) for first in range(256) if first != 0xB0}
    assert sum(name == "UnsupportedRule" for name in found.values()) == 2 + 2 + 8 + 6 + 40
    assert sum(name == "MoveVsp" for name in found.values()) == 129
    assert sum(name == "SetVsp" for name in found.values()) == 14
    assert sum(name == "Pop" for name in found.values()) == 16 + 16 + 1
    assert sum(name == "PopVfp" for name in found.values()) == 1 + 8 + 2 + 8


# Cut off


@pytest.mark.parametrize("text", ["80", "8f", "b1", "b2", "b2 80", "b3", "c6", "c7", "c8", "c9"])
def test_an_instruction_that_is_cut_off_is_malformed_where_it_starts(text: str) -> None:
    with pytest.raises(MalformedTable, match=r"^\.ARM\.extab\+0x12: the entry ends") as caught:
        operations("00 00 " + text)
    assert (caught.value.section, caught.value.offset) == (".ARM.extab", 0x12)


def test_an_endless_uleb128_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="more than 5 bytes"):
        operations("b2 80 80 80 80 80 01")


# Several in a row


def test_vsp_goes_on_from_where_it_is() -> None:
    """`pop {r1-r3}`-like padding between two pops: each register keeps its own place."""
    cfa, rules, _ = undone("02 a0 01 84 00")
    assert cfa == RegisterPlus("sp", 12 + 4 + 8 + 4)
    assert rules == {"r4": AtCfa(-16), "lr": AtCfa(-4)}


def test_after_vsp_is_taken_from_a_register_all_counts_from_there() -> None:
    assert undone("9b 41 84 83") == (
        RegisterPlus("r11", 8),
        {"r4": AtCfa(-16), "r5": AtCfa(-12), "r11": AtCfa(-8), "lr": AtCfa(-4)},
        "lr",
    )


def test_what_was_popped_before_vsp_moved_elsewhere_keeps_its_place() -> None:
    cfa, rules, _ = undone("a0 97 84 00")
    assert (cfa, rules) == (RegisterPlus("r7", 4), {"r4": AtRegister("sp", 0), "lr": AtCfa(-4)})


def test_a_register_popped_twice_is_where_it_was_popped_last() -> None:
    assert undone("a0 a0")[1] == {"r4": AtCfa(-4)}
