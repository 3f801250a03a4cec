"""`.orc_unwind`, in the order of orc_types.h: the sections, both layouts, registers, types; then the unwinder."""

from __future__ import annotations

import pytest

from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    ValExpression,
)
from testbed.conventions import platform
from testbed.image import Image
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.formats.orc_made import (
    CALL,
    CODE_END,
    END,
    ENTRIES_AT,
    HASH,
    INTERRUPT,
    LAYOUTS,
    NEW,
    NOTHING,
    OLD,
    PLACES_AT,
    REGISTERS,
    R,
    applied,
    bits,
    entry,
    made,
    one,
)
from tests.unwinders.frames import START, X86_64, image, told, words
from unwinders.formats.orc import OrcLayout, OrcRegister, orc_table

# The sections.


@pytest.mark.parametrize("missing", [".orc_unwind", ".orc_unwind_ip"])
def test_without_one_of_the_sections_there_is_no_unwind_info(missing: str) -> None:
    whole = made((START, entry(bits(2))))
    sections = {name: section for name, section in whole.sections.items() if name != missing}
    part = Image(whole.path, whole.arch, whole.entry, whole.segments, sections, ())
    with pytest.raises(NoUnwindInfo, match=missing):
        orc_table(part)


@pytest.mark.parametrize(("entries", "places"), [(7, 4), (12, 4), (6, 8), (6, 5), (0, 4)])
def test_sections_of_sizes_that_do_not_fit_are_malformed(entries: int, places: int) -> None:
    broken = image(_orc_unwind=(ENTRIES_AT, bytes(entries)), _orc_unwind_ip=(PLACES_AT, bytes(places)))
    with pytest.raises(MalformedTable, match="bytes") as raised:
        orc_table(broken)
    assert raised.value.offset == 0


def test_an_entry_holds_up_to_the_next_and_the_last_one_to_the_end_of_the_code() -> None:
    table = orc_table(made((START, entry(bits(2), 8)), (START + 4, entry(bits(2), 16))))
    assert [(row.start, row.end, row.cfa) for row in table] == [
        (START, START + 4, RegisterPlus("rsp", 8)),
        (START + 4, CODE_END, RegisterPlus("rsp", 16)),
    ]


def test_entries_are_sorted_whatever_the_linker_did() -> None:
    table = orc_table(made((START + 4, entry(bits(2), 16)), (START, entry(bits(2), 8))))
    assert [(row.start, row.cfa) for row in table] == [
        (START, RegisterPlus("rsp", 8)),
        (START + 4, RegisterPlus("rsp", 16)),
    ]
    assert [row.found_by for row in table] == [".orc_unwind+0x6", ".orc_unwind+0x0"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_entry_for_a_gap_gives_way_to_another_one_for_the_same_pc(order: tuple[int, int]) -> None:
    both = [(START, NOTHING), (START, entry(bits(2), 24))]
    (row,) = orc_table(made(*(both[i] for i in order)))
    assert row.cfa == RegisterPlus("rsp", 24)


# Which layout.


def test_the_header_names_the_layout() -> None:
    """Type 0 with a register would be the old layout's mark; the header is asked first."""
    table = orc_table(made((START, entry(bits(0))), (START + 8, entry(bits(2))), header=HASH))
    assert [row.start for row in table] == [START + 8]


@pytest.mark.parametrize("header", [bytes(20), HASH[:-1], b""])
def test_a_header_that_is_not_known_is_unsupported(header: bytes) -> None:
    with pytest.raises(UnsupportedRule, match="names a layout"):
        orc_table(made((START, entry(bits(2))), header=header))


@LAYOUTS
def test_without_a_header_the_entries_prove_the_layout(layout: OrcLayout) -> None:
    entries = [(START, entry(bits(CALL[layout]))), (START + 4, END[layout]), (START + 8, NOTHING)]
    first, root = orc_table(made(*entries)).rows
    assert (first.cfa, first.registers["rip"]) == (RegisterPlus("rsp", 8), Offset(-8))
    assert (root.cfa, root.registers) == (None, {"rip": Undefined()})
    assert (root.start, root.end) == (START + 4, START + 8)


def test_entries_that_prove_nothing_are_unsupported() -> None:
    with pytest.raises(UnsupportedRule, match=r"neither a \.orc_header nor an entry"):
        orc_table(made((START, NOTHING)))


def test_a_declared_layout_is_taken() -> None:
    image_ = made((START, NOTHING))
    assert len(orc_table(image_, OLD)) == len(orc_table(image_, NEW)) == 0


@pytest.mark.parametrize(
    ("layout", "third"),
    [(OLD, bits(3)), (OLD, bits(0, extra=1 << 11)), (NEW, bits(5)), (NEW, bits(2, extra=1 << 12)), (NEW, bits(7))],
)
def test_bits_that_the_layout_does_not_have_are_malformed(layout: OrcLayout, third: int) -> None:
    with pytest.raises(MalformedTable, match="no entry of the layout") as raised:
        told(orc_table(made((START, entry(bits(CALL[layout]))), (START + 4, entry(third))), layout))
    assert (raised.value.section, raised.value.offset) == (".orc_unwind", 6)


# The previous SP.


@LAYOUTS
@pytest.mark.parametrize(
    ("register", "cfa"),
    [
        (R.DX, RegisterPlus("rdx", 0)),
        (R.DI, RegisterPlus("rdi", 0)),
        (R.BP, RegisterPlus("rbp", -24)),
        (R.SP, RegisterPlus("rsp", -24)),
        (R.R10, RegisterPlus("r10", 0)),
        (R.R13, RegisterPlus("r13", 0)),
        (R.BP_INDIRECT, AtRegister("rbp", -24)),
    ],
)
def test_the_previous_sp_counts_from_a_register(layout: OrcLayout, register: OrcRegister, cfa: Rule) -> None:
    """The kernel takes DX, DI, R10 and R13 without their offset."""
    row = one(bits(CALL[layout], register), -24, layout=layout)
    assert (row.cfa, row.registers["rip"], row.signal_frame) == (cfa, Offset(-8), False)


def test_what_is_stored_at_sp_is_the_previous_sp_less_its_offset() -> None:
    row = one(bits(2, R.SP_INDIRECT), 16)
    assert isinstance(row.cfa, ValExpression)
    caller = applied(row, {"rsp": 0x8000}, words(X86_64, 0x8100) + bytes(0x100) + words(X86_64, 0x1234))
    assert (caller.pc, caller.registers["rsp"]) == (0x1234, 0x8100 + 16)


@LAYOUTS
@pytest.mark.parametrize("register", [R.PREVIOUS_SP, 10, 15])
def test_the_previous_sp_cannot_count_from_anything_else(layout: OrcLayout, register: int) -> None:
    with pytest.raises(MalformedTable) as raised:
        one(bits(CALL[layout], register), layout=layout)
    assert raised.value.offset == 0


def test_a_call_without_a_register_is_malformed_in_the_new_layout_and_says_nothing_in_the_old() -> None:
    with pytest.raises(MalformedTable, match="counts from NONE"):
        one(bits(2, R.NONE))
    assert len(orc_table(made((START, entry(bits(0, R.NONE)))), OLD)) == 0


# BP.


@LAYOUTS
@pytest.mark.parametrize(
    ("register", "rule"),
    [(R.NONE, SameValue()), (R.PREVIOUS_SP, Offset(-16)), (R.BP, AtRegister("rbp", -16))],
)
def test_bp_stays_or_is_stored(layout: OrcLayout, register: OrcRegister, rule: Rule) -> None:
    assert one(bits(CALL[layout], bp=register), 16, -16, layout=layout).registers["rbp"] == rule


@pytest.mark.parametrize("register", [R.SP, R.BP_INDIRECT, R.R10, 12])
def test_bp_cannot_be_stored_anywhere_else(register: int) -> None:
    with pytest.raises(MalformedTable):
        one(bits(2, bp=register))


def test_registers_that_the_format_does_not_know_are_unknown() -> None:
    unknown = {name for name, rule in one(bits(2)).registers.items() if rule == Undefined()}
    assert unknown == set(platform(X86_64).preserved) - {"rbp"}


# ORC rows of interrupted code, applied; then the unwinder.

PT_REGS = ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi")


STORED = {name: 0x1000 + i for i, name in enumerate((*PT_REGS, "orig_rax", "rip", "cs", "rflags", "rsp", "ss"))}


@LAYOUTS
def test_stored_registers_are_those_of_the_interrupted_code(layout: OrcLayout) -> None:
    row = one(bits(REGISTERS[layout]), 16, layout=layout)
    caller = applied(row, {"rsp": 0x8000}, bytes(16) + words(X86_64, *STORED.values()))
    known = {name: caller.registers[name] for name in (*platform(X86_64).preserved, "rip", "rsp")}
    assert known == {name: STORED[name] for name in known}


def test_registers_stored_where_a_slot_points() -> None:
    """Both indirect ones: p = *(rbp + 8), and p = *rsp + 8."""
    pointer, regs = words(X86_64, 0x8010), bytes(8) + words(X86_64, *STORED.values())
    by_bp = one(bits(3, R.BP_INDIRECT), 8)
    assert applied(by_bp, {"rbp": 0x7FF8}, pointer + regs, 0x8000).pc == STORED["rip"]
    assert isinstance(by_bp.registers["rip"], ExpressionRule)
    by_sp = one(bits(3, R.SP_INDIRECT), 0)
    assert applied(by_sp, {"rsp": 0x8000}, pointer + regs).registers["rbx"] == STORED["rbx"]


@LAYOUTS
def test_an_interrupt_frame_has_pc_and_sp_only(layout: OrcLayout) -> None:
    row = one(bits(INTERRUPT[layout]), 0, layout=layout)
    caller = applied(row, {"rsp": 0x8000}, words(X86_64, 0x1234, 0x33, 0, 0x9000, 0x2B))
    assert dict(caller.registers) == {"rip": 0x1234, "rsp": 0x9000, "rbp": 0x77}


def test_bp_of_stored_registers_may_be_elsewhere() -> None:
    row = one(bits(4, bp=R.PREVIOUS_SP), 0, 40)
    stack = words(X86_64, 0x1234, 0x33, 0, 0x9000, 0x2B, 0xB9)
    assert applied(row, {"rsp": 0x8000}, stack).registers["rbp"] == 0xB9


def test_the_caller_was_interrupted_where_the_entry_says_so() -> None:
    """In the old layout the types with stored registers say it, in the new one a bit does."""
    assert [one(bits(kind), layout=OLD).signal_frame for kind in (0, 1, 2)] == [False, True, True]
    for kind in (2, 3, 4):
        assert one(bits(kind)).signal_frame is False
        assert one(bits(kind, extra=1 << 11)).signal_frame is True
