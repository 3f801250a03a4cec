"""`.orc_unwind`, in the order of orc_types.h: the sections, both layouts, registers, types; then the unwinder."""

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
from testbed.words.errors import MalformedTable, UnsupportedRule
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
from unwinders.formats.orc import OrcLayout, OrcRegister, orc_index

# The sections.

A_CALL = entry(bits(2), 8)
LATER, GAP = (START + 4, entry(bits(2), 16)), [(START, NOTHING), (START, entry(bits(2), 24))]


def sized(entries: int, places: int) -> Image:
    """Sections of so many bytes."""
    return image(_orc_unwind=(ENTRIES_AT, bytes(entries)), _orc_unwind_ip=(PLACES_AT, bytes(places)))


# an image, the layout that is declared, the rows by start, end, what the CFA counts from SP, and where they are found
SAID: list[tuple[Image, OrcLayout | None, list[tuple[int, int, int, str]]]] = [
    # an entry holds up to the next one, and the last one to the end of the code
    (
        made((START, A_CALL), LATER),
        None,
        [(START, START + 4, 8, ".orc_unwind+0x0"), (START + 4, CODE_END, 16, ".orc_unwind+0x6")],
    ),
    # they are sorted whatever the linker did
    (
        made(LATER, (START, A_CALL)),
        None,
        [(START, START + 4, 8, ".orc_unwind+0x6"), (START + 4, CODE_END, 16, ".orc_unwind+0x0")],
    ),
    # an entry for a gap gives way to another one for the same pc
    (made(*GAP), None, [(START, CODE_END, 24, ".orc_unwind+0x6")]),
    (made(*GAP[::-1]), None, [(START, CODE_END, 24, ".orc_unwind+0x0")]),
    # The header names the layout. Type 0 with a register would be the old layout's mark; the header is asked first.
    (
        made((START, entry(bits(0))), (START + 8, A_CALL), header=HASH),
        None,
        [(START + 8, CODE_END, 8, ".orc_unwind+0x6")],
    ),
    # a declared layout is taken
    *((made((START, NOTHING)), layout, []) for layout in (OLD, NEW)),
    (made((START, entry(bits(0, R.NONE)))), OLD, []),  # a call without a register says nothing in the old layout
]

# an image, the layout that is declared, how it is refused, the offset of that
UNREAD: list[tuple[Image, OrcLayout | None, type[Exception], str, int | None]] = [
    (sized(7, 4), None, MalformedTable, "no entries of 6", 0),
    *((sized(*sizes), None, MalformedTable, "bytes of places", 0) for sizes in ((12, 4), (6, 8), (6, 5), (0, 4))),
    *(
        (made((START, A_CALL), header=header), None, UnsupportedRule, "names a layout", None)
        for header in (bytes(20), HASH[:-1], b"")
    ),
    (made((START, NOTHING)), None, UnsupportedRule, r"neither a \.orc_header nor an entry", None),
    # bits that the layout does not have
    *(
        (made((START, entry(bits(CALL[layout]))), (START + 4, entry(third))), layout, MalformedTable, "no entry of", 6)
        for layout, third in (
            *((OLD, bits(3)), (OLD, bits(0, extra=1 << 11))),
            *((NEW, bits(5)), (NEW, bits(2, extra=1 << 12)), (NEW, bits(7))),
        )
    ),
    # what the previous SP cannot count from, nor BP
    *(
        (made((START, entry(bits(CALL[layout], register)))), layout, MalformedTable, said, 0)
        for layout in (OLD, NEW)
        for register, said in (
            (R.PREVIOUS_SP, "from PREVIOUS_SP"),
            (10, "10 is not a valid"),
            (15, "15 is not a valid"),
        )
    ),
    (made((START, entry(bits(2, R.NONE)))), NEW, MalformedTable, "counts from NONE", 0),
    *(
        (made((START, entry(bits(2, bp=register)))), NEW, MalformedTable, said, 0)
        for register, said in (
            *((register, f"BP's place counts from {register.name}") for register in (R.SP, R.BP_INDIRECT, R.R10)),
            (12, "12 is not a valid"),
        )
    ),
]


@pytest.mark.parametrize(("made_", "layout", "rows"), SAID)
def test_an_entry_is_for_the_code_up_to_the_next_one(
    made_: Image, layout: OrcLayout | None, rows: list[tuple[int, int, int, str]]
) -> None:
    table = orc_index(made_, layout).all_rows()
    assert [(row.start, row.end, row.cfa, row.found_by) for row in table] == [
        (start, end, RegisterPlus("rsp", offset), place) for start, end, offset, place in rows
    ]


@pytest.mark.parametrize(("made_", "layout", "error", "said", "offset"), UNREAD)
def test_what_is_no_table_is_refused(
    made_: Image, layout: OrcLayout | None, error: type[Exception], said: str, offset: int | None
) -> None:
    with pytest.raises(error, match=said) as raised:
        told(orc_index(made_, layout).all_rows())
    assert getattr(raised.value, "offset", None) == offset


@LAYOUTS
def test_without_a_header_the_entries_prove_the_layout(layout: OrcLayout) -> None:
    entries = [(START, entry(bits(CALL[layout]))), (START + 4, END[layout]), (START + 8, NOTHING)]
    first, root = orc_index(made(*entries)).all_rows().rows
    assert (first.cfa, first.registers["rip"]) == (RegisterPlus("rsp", 8), Offset(-8))
    assert (root.cfa, root.registers) == (None, {"rip": Undefined()})
    assert (root.start, root.end) == (START + 4, START + 8)


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


# BP.


@LAYOUTS
@pytest.mark.parametrize(
    ("register", "rule"),
    [(R.NONE, SameValue()), (R.PREVIOUS_SP, Offset(-16)), (R.BP, AtRegister("rbp", -16))],
)
def test_bp_stays_or_is_stored(layout: OrcLayout, register: OrcRegister, rule: Rule) -> None:
    assert one(bits(CALL[layout], bp=register), 16, -16, layout=layout).registers["rbp"] == rule


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
