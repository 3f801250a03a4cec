"""Every call frame instruction, in the order of DWARF 5 section 6.4.2: what it does, and where it may not be."""

from __future__ import annotations

import pytest

from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    Constant,
    IsExpression,
    Operation,
    RegisterPlus,
)
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.cfi_programs import DEF_CFA, one, rule
from tests.unwinders.frames import (
    ARM32,
    ARM64,
    SIZE,
    START,
    X86_64,
    block,
    cie,
    entry,
    fde,
    image,
    instructions_at,
    rows,
    sleb,
    told,
    u,
    uleb,
)
from unwinders.formats.cfi import cfi_table

NOP2 = b"\0\0"


# 6.4.2.1 Row creation


def test_set_loc_starts_a_row_at_an_address() -> None:
    before, after = rows(b"\x01" + u(8, START + 0x20) + b"\x0e\x10", DEF_CFA)
    assert (before.start, before.end, before.cfa) == (START, START + 0x20, RegisterPlus("rsp", 8))
    assert (after.start, after.end, after.cfa) == (START + 0x20, START + SIZE, RegisterPlus("rsp", 16))


@pytest.mark.parametrize(
    "instruction", [b"\x48", b"\x02\x08", b"\x03\x08\x00", b"\x04\x08\x00\x00\x00"], ids=["6bit", "1", "2", "4"]
)
def test_advance_loc_is_factored_by_the_code_alignment(instruction: bytes) -> None:
    before, after = rows(instruction + b"\x0e\x10", b"\x0c\x1f\x00", arch=ARM64, code=4)
    assert before.end == after.start == START + 32
    assert after.cfa == RegisterPlus("sp", 16)


def test_advance_by_zero_makes_no_row() -> None:
    (row,) = rows(b"\x40\x0e\x10", DEF_CFA)
    assert (row.start, row.cfa) == (START, RegisterPlus("rsp", 16))


def test_advance_to_the_very_end_makes_no_row() -> None:
    """GNU as writes what a directive after the last instruction says: it holds nowhere."""
    (row,) = rows(b"\x03" + u(2, SIZE) + b"\x0e\x10", DEF_CFA)
    assert (row.end, row.cfa) == (START + SIZE, RegisterPlus("rsp", 8))


def test_advance_beyond_the_end_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="the FDE is for 0x1000 to 0x1100") as raised:
        rows(NOP2 + b"\x03" + u(2, SIZE + 1), DEF_CFA)
    assert raised.value.offset == instructions_at(DEF_CFA) + 2


def test_set_loc_backwards_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="goes from 0x1001 to 0x1000"):
        rows(b"\x41\x01" + u(8, START), DEF_CFA)


@pytest.mark.parametrize("instruction", [b"\x41", b"\x02\x01", b"\x03\x01\x00", b"\x01" + u(8, START)])
def test_moving_the_location_in_a_cie_is_malformed(instruction: bytes) -> None:
    with pytest.raises(MalformedTable, match="a CIE moves the location"):
        rows(b"", DEF_CFA + instruction)


# 6.4.2.2 CFA definition


def test_def_cfa_is_not_factored() -> None:
    assert one(b"\x0c\x06\x10").cfa == RegisterPlus("rbp", 16)


def test_def_cfa_sf_is_factored_by_the_data_alignment() -> None:
    assert one(b"\x12\x1f" + sleb(-2), arch=ARM64, code=4).cfa == RegisterPlus("sp", 16)


def test_def_cfa_register_keeps_the_offset() -> None:
    assert one(b"\x0c\x07\x10\x0d\x06").cfa == RegisterPlus("rbp", 16)


def test_def_cfa_offset_keeps_the_register() -> None:
    assert one(b"\x0e" + uleb(4096)).cfa == RegisterPlus("rsp", 4096)


@pytest.mark.parametrize("instruction", [b"\x0e", b"\x0c\x07"])
def test_a_negative_cfa_offset_is_the_word_that_assemblers_write_it_as(instruction: bytes) -> None:
    assert one(instruction + uleb(2**64 - 16)).cfa == RegisterPlus("rsp", -16)
    assert one(instruction + uleb(2**63 - 1)).cfa == RegisterPlus("rsp", 2**63 - 1)
    for size in (32, 64):
        assert one(b"\x0e" + uleb(2**size - 16), b"\x0c\x0d\x08", arch=ARM32).cfa == RegisterPlus("sp", -16)


def test_def_cfa_offset_sf_is_factored() -> None:
    assert one(b"\x13" + sleb(-3)).cfa == RegisterPlus("rsp", 24)


def test_def_cfa_expression() -> None:
    assert one(b"\x0f" + block(b"\x77\x08\x06")).cfa == IsExpression((Operation(0x77, (8,), 0), Operation(0x06, (), 2)))


@pytest.mark.parametrize("instruction", [b"\x0d\x06", b"\x0e\x10", b"\x13\x10"])
@pytest.mark.parametrize("before", [b"", b"\x0f" + block(b"\x77\x08")], ids=["no CFA", "expression"])
def test_half_a_cfa_without_the_other_half_is_malformed(instruction: bytes, before: bytes) -> None:
    with pytest.raises(MalformedTable, match="register \\+ offset CFA") as raised:
        rows(before + instruction)
    assert raised.value.offset == instructions_at() + len(before)


def test_pcs_before_a_cfa_is_defined_have_no_row() -> None:
    (row,) = rows(b"\x44\x0c\x07\x08")
    assert row.start == START + 4


# 6.4.2.5 Padding, and what vendors added


def test_nop_does_nothing() -> None:
    assert rows(b"\0\0\0", DEF_CFA) == rows(b"", DEF_CFA)


def test_gnu_args_size_does_nothing_for_unwinding() -> None:
    padded = rows(b"\x2e" + uleb(200) + b"\x83\x02", DEF_CFA)
    assert [(row.cfa, row.registers) for row in padded] == [(RegisterPlus("rsp", 8), {"rbx": AtCfa(-16)})]


def test_gnu_negative_offset_extended() -> None:
    assert rule(b"\x2f\x03\x02") == AtCfa(16)


def test_aarch64_negate_ra_state_toggles() -> None:
    sp = b"\x0c\x1f\x00"
    states = [row.registers.get(RA_SIGNED) for row in rows(b"\x41\x2d\x41\x2d", sp, arch=ARM64, code=4)]
    assert states == [None, Constant(1), Constant(0)]


def test_aarch64_negate_ra_state_with_pc_toggles_both_bits() -> None:
    assert rule(b"\x2c", RA_SIGNED, b"\x0c\x1f\x00", arch=ARM64) == Constant(3)


@pytest.mark.parametrize("arch", [X86_64, ARM32], ids=str)
@pytest.mark.parametrize("opcode", [b"\x2c", b"\x2d"])
def test_negate_ra_state_elsewhere_is_malformed(arch, opcode: bytes) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(MalformedTable, match=f"no meaning on {arch}"):
        rows(opcode, arch=arch)


def test_remember_state_keeps_the_signing_state() -> None:
    last = rows(b"\x2d\x0a\x41\x2d\x41\x0b", b"\x0c\x1f\x00", arch=ARM64)[-1]
    assert last.registers[RA_SIGNED] == Constant(1)


@pytest.mark.parametrize("opcode", sorted(set(range(0x40)) - {*range(0x17), 0x2C, 0x2D, 0x2E, 0x2F}))
def test_an_unknown_instruction_is_malformed_at_its_offset(opcode: int) -> None:
    with pytest.raises(MalformedTable, match=f"no call frame instruction {opcode:#04x}") as raised:
        rows(NOP2 + bytes([opcode]), DEF_CFA)
    assert (raised.value.section, raised.value.offset) == (".debug_frame", instructions_at(DEF_CFA) + 2)


@pytest.mark.parametrize(
    "cut",
    [
        "02",
        "0301",
        "04010101",
        "0100",
        "0c",
        "0c07",
        "83",
        "0583",
        "0903",
        "0f",
        "0f0530",
        "1003",
        "16030230",
        "2e80",
        "07",
        "06",
    ],
)
def test_an_operand_that_is_cut_off_is_malformed(cut: str) -> None:
    with pytest.raises(MalformedTable, match="bytes are needed"):
        rows(bytes.fromhex(cut), DEF_CFA)


def test_a_malformed_expression_names_its_own_offset() -> None:
    with pytest.raises(MalformedTable, match="no DWARF operation 0x01") as raised:
        rows(b"\x0f\x02\x30\x01")
    assert raised.value.offset == instructions_at() + 3


def test_rules_for_endless_registers_are_malformed() -> None:
    with pytest.raises(MalformedTable, match="more than 256 registers"):
        rows(b"".join(b"\x08" + uleb(number) for number in range(257)), DEF_CFA)
    (row,) = rows(b"".join(b"\x08" + uleb(number) for number in range(256)), DEF_CFA)
    assert len(row.registers) == 256


# The row itself


def test_a_row_says_where_it_came_from_and_what_returns() -> None:
    (row,) = rows(b"", DEF_CFA)
    assert row.found_by == f".debug_frame+{len(cie(DEF_CFA)):#x}"
    assert (row.return_address, row.signal_frame) == ("rip", False)


@pytest.mark.parametrize(("arch", "name"), [(X86_64, "rip"), (ARM64, "x30"), (ARM32, "lr")], ids=str)
def test_the_return_address_column_is_named_by_the_architecture(arch, name: str) -> None:  # type: ignore[no-untyped-def]
    (row,) = rows(b"", b"\x0c\x07\x08", arch=arch)
    assert row.return_address == name


def test_registers_that_are_not_recorded_keep_their_number() -> None:
    row = one(b"\x05" + uleb(17) + uleb(2), ra=77, version=3)
    assert (row.registers, row.return_address) == ({"dwarf17": AtCfa(-16)}, "dwarf77")


# The section


def test_where_fdes_overlap_the_first_one_holds() -> None:
    section = cie(DEF_CFA) + fde(b"\x0e\x10", start=0x1010, size=0x10) + fde(b"\x0e\x18", start=0x1000, size=0x40)
    section += fde(b"\x0e\x20", start=0x1018, size=0x10) + fde(b"\x0e\x28", start=0x1030, size=0x20)
    table = cfi_table(image(_debug_frame=(0, section)), ".debug_frame")
    spans = [(row.start, row.end, row.cfa.offset) for row in table if isinstance(row.cfa, RegisterPlus)]
    assert spans == [(0x1000, 0x1010, 24), (0x1010, 0x1020, 16), (0x1020, 0x1040, 24), (0x1040, 0x1050, 40)]
    assert [table.at(pc) is None for pc in (0xFFF, 0x1000, 0x101F, 0x1020, 0x104F, 0x1050)] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_a_table_is_read_once_per_image() -> None:
    made = image(_debug_frame=(0, cie(DEF_CFA) + fde()))
    assert cfi_table(made, ".debug_frame") is cfi_table(made, ".debug_frame")


def test_a_missing_section_is_no_unwind_info() -> None:
    with pytest.raises(NoUnwindInfo, match="has no \\.eh_frame"):
        cfi_table(image(), ".eh_frame")


# What pyelftools 0.33 decodes wrongly: each is legal, and frequent in one producer or another.


def test_library_trap_def_cfa_sf_counts_in_data_alignment_units() -> None:
    assert one(b"\x12\x1f\x7e", b"", arch=ARM64, code=4, data=-8).cfa == RegisterPlus("sp", 16)


def test_library_trap_gnu_args_size_in_an_fde_is_a_no_op() -> None:
    assert one(b"\x2e\x10").cfa == RegisterPlus("rsp", 8)


def test_library_trap_restore_when_the_cie_has_no_instructions() -> None:
    assert one(DEF_CFA + b"\x83\x02\xc3", b"").registers == {}


def test_library_trap_negate_ra_state_is_not_dropped() -> None:
    assert rule(b"\x2d", RA_SIGNED, b"\x0c\x1f\x00", arch=ARM64) == Constant(1)


def test_library_trap_signal_frame_without_augmentation_data() -> None:
    """GNU as writes "S" alone into .debug_frame: there is nothing to skip."""
    section = cie(DEF_CFA, augmentation=b"S") + fde()
    (row,) = cfi_table(image(_debug_frame=(0, section)), ".debug_frame")
    assert row.signal_frame


def test_library_trap_a_truncated_cie_is_a_typed_error() -> None:
    section = entry(b"\xff\xff\xff\xff\x01zR") + fde()
    with pytest.raises(MalformedTable) as raised:
        told(cfi_table(image(_debug_frame=(0, section)), ".debug_frame"))
    assert raised.value.section == ".debug_frame"
