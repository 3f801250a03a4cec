"""Every call frame instruction, in the order of DWARF 5 section 6.4.2: what it does, and where it may not be."""

from collections.abc import Mapping
from typing import Any

import pytest

from testbed.contract.rows import (
    RA_SIGNED,
    Constant,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.words.errors import MalformedTable
from tests.unwinders.frames import (
    ARM32,
    ARM64,
    SIZE,
    START,
    X86_64,
    block,
    cie,
    fde,
    image,
    instructions_at,
    rbp,
    read_alike,
    rows,
    rsp,
    sleb,
    sp,
    u,
    uleb,
)
from unwinders.formats.cfi import cfi_index

NOP2 = b"\0\0"
DEF_CFA = b"\x0c\x07\x08"  # DW_CFA_def_cfa rsp, 8: a row needs a CFA
ARM64_CFA, ARM32_CFA = b"\x0c\x1f\x00", b"\x0c\x0d\x00"  # sp, 0
EXPRESSION = b"\x0f" + block(b"\x77\x08")  # a CFA by an expression

Options = Mapping[str, Any]
AS_USUAL: Options = {}  # x86-64, code in units of 1 and data in units of -8 bytes
RESTORES = (b"\xc3", b"\x06\x03")
ON_ARM64: Options = {"arch": ARM64, "code": 4}


def one(instructions: bytes, initial: bytes = DEF_CFA, **options: Any) -> UnwindRow:
    """The last row of an FDE."""
    return rows(instructions, initial, **options)[-1]


# instructions, those of the CIE, how they are read, CFA by the distance from the function's start
CFAS: list[tuple[bytes, bytes, Options, Mapping[int, Rule]]] = [
    # 6.4.2.1 Row creation
    (b"\x01" + u(8, START + 0x20) + b"\x0e\x10", DEF_CFA, AS_USUAL, {0: rsp(8), 0x20: rsp(16)}),
    # an advance is factored by the code's alignment
    *(
        (advance + b"\x0e\x10", ARM64_CFA, ON_ARM64, {0: sp(0), 32: sp(16)})
        for advance in (b"\x48", b"\x02\x08", b"\x03\x08\x00", b"\x04\x08\x00\x00\x00")
    ),
    (b"\x40\x0e\x10", DEF_CFA, AS_USUAL, {0: rsp(16)}),  # by nothing: no row of its own
    (
        b"\x03" + u(2, SIZE) + b"\x0e\x10",
        DEF_CFA,
        AS_USUAL,
        {0: rsp(8)},
    ),  # GNU as: a directive after the last instruction
    (b"\x44\x0c\x07\x08", b"", AS_USUAL, {4: rsp(8)}),  # pcs before a CFA is defined have no row
    # 6.4.2.2 CFA definition
    (b"\x0c\x06\x10", DEF_CFA, AS_USUAL, {0: rbp(16)}),
    (b"\x12\x1f" + sleb(-2), DEF_CFA, ON_ARM64, {0: sp(16)}),  # factored by the data's alignment
    (b"\x12\x1f" + sleb(-2), b"", ON_ARM64, {0: sp(16)}),  # pyelftools 0.33 does not factor it
    (b"\x0c\x07\x10\x0d\x06", DEF_CFA, AS_USUAL, {0: rbp(16)}),
    (b"\x0e" + uleb(4096), DEF_CFA, AS_USUAL, {0: rsp(4096)}),
    (b"\x13" + sleb(-3), DEF_CFA, AS_USUAL, {0: rsp(24)}),
    (
        b"\x0f" + block(b"\x77\x08\x06"),
        DEF_CFA,
        AS_USUAL,
        {0: ValExpression((Operation(0x77, (8,), 0), Operation(6, (), 2)))},
    ),
    # a negative offset is the word that assemblers write it as
    *((set_offset + uleb(2**64 - 16), DEF_CFA, AS_USUAL, {0: rsp(-16)}) for set_offset in (b"\x0e", b"\x0c\x07")),
    *((set_offset + uleb(2**63 - 1), DEF_CFA, AS_USUAL, {0: rsp(2**63 - 1)}) for set_offset in (b"\x0e", b"\x0c\x07")),
    *((b"\x0e" + uleb(2**bits - 16), ARM32_CFA, {"arch": ARM32}, {0: sp(-16)}) for bits in (32, 64)),
    # 6.4.2.4 Row states: they nest
    (b"\x0a\x0e\x10\x0a\x0e\x18\x41\x0b\x41\x0b", DEF_CFA, AS_USUAL, {0: rsp(24), 1: rsp(16), 2: rsp(8)}),
    (b"\x0a\x41\x0c\x06\x20\x41\x0b", DEF_CFA, AS_USUAL, {0: rsp(8), 1: rbp(32), 2: rsp(8)}),
    # 6.4.2.5 Padding, and what vendors added
    (b"\0\0\0", DEF_CFA, AS_USUAL, {0: rsp(8)}),
    (b"\x2e\x10", DEF_CFA, AS_USUAL, {0: rsp(8)}),  # DW_CFA_GNU_args_size
]

# instructions, those of the CIE, how they are read, the rules of the last row
RULES: list[tuple[bytes, bytes, Options, Mapping[str, Rule]]] = [
    # 6.4.2.3 Register rules
    (b"\x07\x03", DEF_CFA, AS_USUAL, {"rbx": Undefined()}),
    (b"\x08\x03", DEF_CFA, AS_USUAL, {"rbx": SameValue()}),
    (b"\x83\x02", DEF_CFA, AS_USUAL, {"rbx": Offset(-16)}),
    (b"\x05" + uleb(72) + uleb(3), ARM64_CFA, {"arch": ARM64}, {"d8": Offset(-24)}),
    (b"\x05" + uleb(264) + uleb(2), ARM32_CFA, {"arch": ARM32, "data": -4}, {"d8": Offset(-8)}),
    (b"\x11\x03" + sleb(-2), DEF_CFA, AS_USUAL, {"rbx": Offset(16)}),
    (b"\x14\x03\x02", DEF_CFA, AS_USUAL, {"rbx": ValOffset(-16)}),
    (b"\x15\x03" + sleb(-2), DEF_CFA, AS_USUAL, {"rbx": ValOffset(16)}),
    (b"\x09\x03\x0c", DEF_CFA, AS_USUAL, {"rbx": RegisterPlus("r12", 0)}),
    (b"\x10\x03" + block(b"\x76\x70"), DEF_CFA, AS_USUAL, {"rbx": ExpressionRule((Operation(0x76, (-16,), 0),))}),
    (b"\x16\x03" + block(b"\x76\x70"), DEF_CFA, AS_USUAL, {"rbx": ValExpression((Operation(0x76, (-16,), 0),))}),
    # restore and restore_extended go back to the rule of the CIE, or to none
    *((b"\x07\x03" + restore, DEF_CFA + b"\x83\x02", AS_USUAL, {"rbx": Offset(-16)}) for restore in RESTORES),
    *((b"\x83\x02" + restore, DEF_CFA, AS_USUAL, {}) for restore in RESTORES),
    (DEF_CFA + b"\x83\x02\xc3", b"", AS_USUAL, {}),  # a CIE without instructions
    (b"\x83\x02\x0a\x41\x07\x03\x41\x0b", DEF_CFA, AS_USUAL, {"rbx": Offset(-16)}),  # a state keeps them
    (b"\x05" + uleb(17) + uleb(2), DEF_CFA, AS_USUAL, {"dwarf17": Offset(-16)}),  # of no register that is recorded
    # what vendors added
    (b"\x2e" + uleb(200) + b"\x83\x02", DEF_CFA, AS_USUAL, {"rbx": Offset(-16)}),
    (b"\x2f\x03\x02", DEF_CFA, AS_USUAL, {"rbx": Offset(16)}),  # DW_CFA_GNU_negative_offset_extended
    (b"\x2d", ARM64_CFA, {"arch": ARM64}, {RA_SIGNED: Constant(1)}),
    (b"\x41\x2d\x41\x2d", ARM64_CFA, ON_ARM64, {RA_SIGNED: Constant(0)}),
    (b"\x2c", ARM64_CFA, {"arch": ARM64}, {RA_SIGNED: Constant(3)}),  # with the pc: both bits
    (b"\x2d\x0a\x41\x2d\x41\x0b", ARM64_CFA, {"arch": ARM64}, {RA_SIGNED: Constant(1)}),  # a state keeps it
]

CUT_OFF = (
    *("02", "0301", "04010101", "0100", "06", "07", "0c", "0c07", "83", "0583", "0903"),
    *("0f", "0f0530", "1003", "16030230", "2e80"),
)

# instructions, those of the CIE, how they are read, what is wrong, the offset of it from the first instruction
MALFORMED: list[tuple[bytes, bytes, Options, str, int | None]] = [
    (NOP2 + b"\x03" + u(2, SIZE + 1), DEF_CFA, AS_USUAL, "the FDE is for 0x1000 to 0x1100", 2),
    (b"\x41\x01" + u(8, START), DEF_CFA, AS_USUAL, "goes from 0x1001 to 0x1000", 1),
    *(
        (b"", DEF_CFA + advance, AS_USUAL, "a CIE moves the location", None)
        for advance in (b"\x41", b"\x02\x01", b"\x03\x01\x00", b"\x01" + u(8, START))
    ),
    *((b"", DEF_CFA + b"\x83\x02" + restore, AS_USUAL, "a CIE restores", None) for restore in RESTORES),
    (b"\x0a\x0b\x0b", DEF_CFA, AS_USUAL, "no row is remembered", 2),
    (b"\x0b", DEF_CFA + b"\x0a", AS_USUAL, "no row is remembered", 0),  # the CIE's states are not the FDE's
    (b"\x0a" * 1025, DEF_CFA, {"alike": False}, "more than 1024 remembered", 1024),
    *(
        (opcode, b"", {"arch": arch}, f"no meaning on {arch}", None)
        for arch in (X86_64, ARM32)
        for opcode in (b"\x2c", b"\x2d")
    ),
    *(
        (NOP2 + bytes([opcode]), DEF_CFA, AS_USUAL, f"no call frame instruction {opcode:#04x}", 2)
        for opcode in sorted(set(range(0x40)) - {*range(0x17), 0x2C, 0x2D, 0x2E, 0x2F})
    ),
    *((bytes.fromhex(cut_off), DEF_CFA, AS_USUAL, "bytes are needed", None) for cut_off in CUT_OFF),
    (b"\x0f\x02\x30\x01", b"", AS_USUAL, "no DWARF operation 0x01", 3),  # the operation's own offset
    (
        b"".join(b"\x08" + uleb(number) for number in range(257)),
        DEF_CFA,
        {"alike": False},
        "more than 256 registers",
        None,
    ),
]


@pytest.mark.parametrize(("instructions", "initial", "options", "cfas"), CFAS)
def test_instructions_make_rows(
    instructions: bytes, initial: bytes, options: Options, cfas: Mapping[int, Rule]
) -> None:
    made = rows(instructions, initial, **options)
    assert {row.start - START: row.cfa for row in made} == cfas
    assert [row.end - START for row in made] == [*(start for start in cfas if start != min(cfas)), SIZE]


@pytest.mark.parametrize(("instructions", "initial", "options", "rules"), RULES)
def test_instructions_make_rules(
    instructions: bytes, initial: bytes, options: Options, rules: Mapping[str, Rule]
) -> None:
    assert one(instructions, initial, **options).registers == rules


@pytest.mark.parametrize(("instructions", "initial", "options", "said", "offset"), MALFORMED)
def test_instructions_are_malformed(
    instructions: bytes, initial: bytes, options: Options, said: str, offset: int | None
) -> None:
    with pytest.raises(MalformedTable, match=said) as raised:
        rows(instructions, initial, **options)
    assert raised.value.section == ".debug_frame"
    assert offset is None or raised.value.offset == instructions_at(initial) + offset


@pytest.mark.parametrize("half", [b"\x0e\x10", b"\x13\x7e"])
def test_half_of_a_cfa_behind_an_expression_is_read_as_libgcc_and_gdb_do_and_told(half: bytes) -> None:
    before, there, behind, counted = rows(EXPRESSION + b"\x41" + half + b"\x41\x83\x02\x41\x0d\x07", DEF_CFA)
    assert before.cfa == there.cfa == behind.cfa == ValExpression((Operation(0x77, (8,), 0),))
    told = [row.half_cfa for row in (before, there, behind, counted)]
    assert told == [
        "",
        "pass over DW_CFA_def_cfa_offset 16",
        "",
        "count by the last offset behind DW_CFA_def_cfa_register rsp",
    ]
    assert (behind.registers, counted.cfa) == ({"rbx": Offset(-16)}, rsp(16))


@pytest.mark.parametrize("half", [b"\x0e\x10", b"\x13\x7e"])
def test_half_of_a_cfa_of_which_nothing_was_said_waits_for_the_other(half: bytes) -> None:
    assert not rows(half, b"")
    (expressed,) = rows(half + EXPRESSION, b"")
    assert (expressed.cfa, expressed.half_cfa) == (
        ValExpression((Operation(0x77, (8,), 0),)),
        "pass over DW_CFA_def_cfa_offset 16",
    )
    (counted,) = rows(half + b"\x0d\x07", b"")
    assert (counted.cfa, counted.half_cfa) == (
        rsp(16),
        "count by the last offset behind DW_CFA_def_cfa_register rsp",
    )


def test_a_row_may_have_as_many_as_256_registers() -> None:
    assert len(one(b"".join(b"\x08" + uleb(number) for number in range(256)), alike=False).registers) == 256


# The row itself


def test_a_row_says_where_it_came_from_and_what_returns() -> None:
    row = one(b"")
    assert row.found_by == f".debug_frame+{len(cie(DEF_CFA)):#x}"
    assert row.signal_frame is False
    columns: list[Options] = [{}, {"arch": ARM64}, {"arch": ARM32}, {"ra": 77, "version": 3}]
    assert [one(b"", **column).return_address for column in columns] == ["rip", "x30", "lr", "dwarf77"]


# The section


def test_where_fdes_overlap_the_first_one_holds() -> None:
    section = (
        cie(DEF_CFA + b"\x90\x01")
        + fde(b"\x0e\x10", start=0x1010, size=0x10)
        + fde(b"\x0e\x18", start=0x1000, size=0x40)
    )
    section += fde(b"\x0e\x20", start=0x1018, size=0x10) + fde(b"\x0e\x28", start=0x1030, size=0x20)
    table = cfi_index(read_alike(image(_debug_frame=(0, section)), ".debug_frame"), ".debug_frame").all_rows()
    spans = [(row.start, row.end, row.cfa.offset) for row in table if isinstance(row.cfa, RegisterPlus)]
    assert spans == [(0x1000, 0x1010, 24), (0x1010, 0x1020, 16), (0x1020, 0x1040, 24), (0x1040, 0x1050, 40)]
    assert [pc for pc in (0xFFF, 0x1000, 0x101F, 0x1020, 0x104F, 0x1050) if table.at(pc) is None] == [0xFFF, 0x1050]


def test_a_table_is_read_once_per_image() -> None:
    made = image(_debug_frame=(0, cie(DEF_CFA) + fde()))
    assert cfi_index(made, ".debug_frame").all_rows() is cfi_index(made, ".debug_frame").all_rows()


def test_a_signal_frame_needs_no_augmentation_data() -> None:
    """GNU as writes "S" alone into .debug_frame: there is nothing to skip. pyelftools 0.33 skips."""
    section = cie(DEF_CFA, augmentation=b"S") + fde()
    (row,) = cfi_index(image(_debug_frame=(0, section)), ".debug_frame").all_rows()
    assert row.signal_frame
