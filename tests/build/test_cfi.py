"""CFI programs and the states of call frame information that directives make."""

from dataclasses import replace
from typing import Any

import pytest

from testbed.build import directives as d
from testbed.build.tables.cfi_program import (
    CfaComputed,
    CfaStoredAt,
    CfiState,
    Computed,
    NoRule,
    Procedure,
    StoredAt,
    advance,
    cfi_states,
    decode_escape,
    encode_procedure,
    encode_rules,
    initial_rules,
)
from testbed.build.tables.eh_frame import write_debug_frame, write_eh_frame
from testbed.words.errors import BuildError
from tests.build.procedures import ARM32, ARM64, HERE, X86, procedure


@pytest.mark.parametrize(
    ("rule", "encoded"),
    [
        (d.cfi("def_cfa", 7, 16), "0c 07 10"),
        (d.cfi("def_cfa", 7, 200), "0c 07 c8 01"),
        (d.cfi("def_cfa", 7, -16), "12 07 02"),
        (d.cfi("def_cfa_offset", 16), "0e 10"),
        (d.cfi("def_cfa_offset", -8), "13 01"),
        (d.cfi("def_cfa_register", 6), "0d 06"),
        (d.cfi("adjust_cfa_offset", 8), "0e 10"),  # the CFA is rsp + 8 at entry
        (d.cfi("offset", 6, -16), "86 02"),
        (d.cfi("offset", 70, -16), "05 46 02"),
        (d.cfi("offset", 6, 16), "11 06 7e"),
        (d.cfi("rel_offset", 6, 0), "86 01"),
        (d.cfi("val_offset", 7, -8), "14 07 01"),
        (d.cfi("val_offset", 7, 0), "14 07 00"),
        (d.cfi("val_offset", 7, 8), "15 07 7f"),
        (d.cfi("register", 3, 12), "09 03 0c"),
        (d.cfi("restore", 6), "c6"),
        (d.cfi("restore", 70), "06 46"),
        (d.cfi("undefined", 16), "07 10"),
        (d.cfi("same_value", 3), "08 03"),
        (d.cfi("escape", *b"\x2e\x10"), "2e 10"),
        (d.cfi("negate_ra_state"), "2d"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_directive_is_encoded_as_dwarf_says(rule: d.CfiDirective, encoded: str) -> None:
    assert encode_procedure(procedure((0x1000, rule)), X86).hex(" ") == encoded


@pytest.mark.parametrize(
    ("distance", "encoded"),
    [
        (0, ""),
        (1, "41"),
        (0x3F, "7f"),
        (0x40, "02 40"),
        (0xFF, "02 ff"),
        (0x100, "03 00 01"),
        (0xFFFF, "03 ff ff"),
        (0x10000, "04 00 00 01 00"),
    ],
)
def test_an_advance_takes_the_shortest_form(distance: int, encoded: str) -> None:
    assert advance(distance).hex(" ") == encoded


@pytest.mark.parametrize(
    ("rules", "encoded"),
    [
        # rules at one place share an advance
        (
            [
                (0x1001, d.cfi("def_cfa_offset", 16)),
                (0x1001, d.cfi("offset", 6, -16)),
                (0x1004, d.cfi("def_cfa_register", 6)),
            ],
            "41 0e 10 86 02 43 0d 06",
        ),
        # behind .cfi_restore_state the CFA's offset is what it was when remembered, not what was set in between
        (
            [
                (0x1000, d.cfi("adjust_cfa_offset", 8)),
                (0x1000, d.cfi("remember_state")),
                (0x1000, d.cfi("adjust_cfa_offset", -8)),
                (0x1000, d.cfi("restore_state")),
                (0x1000, d.cfi("adjust_cfa_offset", 8)),
            ],
            "0e 10 0a 0e 08 0b 0e 18",
        ),
    ],
)
def test_directives_are_encoded_in_a_row(rules: list[tuple[int, d.CfiDirective]], encoded: str) -> None:
    assert encode_procedure(procedure(*rules), X86).hex(" ") == encoded


def test_initial_rules_are_the_abis() -> None:
    assert encode_rules(initial_rules(X86), X86, HERE).hex(" ") == "0c 07 08 90 01"
    assert encode_rules(initial_rules(ARM64), ARM64, HERE).hex(" ") == "0c 1f 00"
    assert encode_rules(initial_rules(ARM32), ARM32, HERE).hex(" ") == "0c 0d 00"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([d.cfi("offset", 6, -12)], r"^a\.S:7:5: the offset -12 is no multiple of 8"),
        ([d.cfi("restore_state")], r"^a\.S:7:5: \.cfi_restore_state without \.cfi_remember_state"),
        ([d.cfi("remember_state")], r"^a\.S:7:5: \.cfi_remember_state without \.cfi_restore_state"),
    ],
)
def test_what_the_format_cannot_say_is_an_error_at_its_line(rules: list[d.CfiDirective], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        encode_procedure(procedure(*((0x1000, rule) for rule in rules)), X86)


def test_eh_frame_layout_byte_for_byte() -> None:
    frame = write_eh_frame([procedure((0x1001, d.cfi("def_cfa_offset", 16)))], X86, 0x2000)
    cie = "14 00 00 00 00 00 00 00 01 7a 52 00 01 78 10 01 1b 0c 07 08 90 01 00 00"
    # length, distance back to the CIE, 0x1000 - 0x2020, 0x40 bytes, no augmentation, instructions, padding
    fde = "14 00 00 00 1c 00 00 00 e0 ef ff ff 40 00 00 00 00 41 0e 10 00 00 00 00"
    assert frame.content.hex(" ") == f"{cie} {fde} 00 00 00 00"
    assert frame.entries == ((0x1000, 0x2018),)


def test_debug_frame_layout_byte_for_byte() -> None:
    content = write_debug_frame([procedure((0x1004, d.cfi("def_cfa_offset", 8)))], ARM32)
    cie = "10 00 00 00 ff ff ff ff 04 00 04 00 01 7c 0e 0c 0d 00 00 00"
    fde = "10 00 00 00 00 00 00 00 00 10 00 00 40 00 00 00 44 0e 08 00"
    assert content.hex(" ") == f"{cie} {fde}"


def test_each_kind_of_frame_has_one_cie() -> None:
    plain, again = procedure(start=0x1000), procedure(start=0x1040, end=0x1080)
    signal = Procedure(HERE, 0x1080, 0x10C0, (), simple=True, signal_frame=True, return_column=3)
    content = write_eh_frame([plain, signal, again], X86, 0x2000).content
    assert content.count(b"zR\0") == 1
    assert content.count(b"zRS\0\x01\x78\x03\x01\x1b\0") == 1  # no initial rules


# CFI directives run over a procedure: what holds at each pc, and what the bytes of an escape mean.


ENTRY = {16: d.cfi("offset", 16, -8)}


def lasting(*states: CfiState) -> list[CfiState]:
    """States of x86-64, each up to the next one, the last one to the end of the procedure."""
    ends = [*(state.start for state in states[1:]), 0x1040]
    return [replace(state, end=end) for state, end in zip(states, ends, strict=True)]


def state(start: int, cfa: tuple[int, int] | None = (7, 8), **more: Any) -> CfiState:
    return CfiState(start, 0x1040, cfa, **{"rules": ENTRY, **more})


# directives, and the states that they make
STATES: list[tuple[list[tuple[int, d.CfiDirective]], list[CfiState]]] = [
    ([], [state(0x1000)]),  # the rules of the ABI
    # directives that move the CFA
    *(
        ([(0x1008, rule)], [state(0x1000), state(0x1008, cfa)])
        for rule, cfa in (
            (d.cfi("def_cfa", 6, 16), (6, 16)),
            (d.cfi("def_cfa_offset", 24), (7, 24)),
            (d.cfi("def_cfa_register", 6), (6, 8)),
            (d.cfi("adjust_cfa_offset", -4), (7, 4)),
        )
    ),
    # directives that say where a register is
    *(
        ([(0x1000, rule)], [state(0x1000, rules=ENTRY | {6: said})])
        for rule, said in (
            (d.cfi("offset", 6, -16), d.cfi("offset", 6, -16)),
            (d.cfi("rel_offset", 6, 0), d.cfi("offset", 6, -8)),
            (d.cfi("val_offset", 6, -8), d.cfi("val_offset", 6, -8)),
            (d.cfi("register", 6, 3), d.cfi("register", 6, 3)),
            (d.cfi("undefined", 6), d.cfi("undefined", 6)),
            (d.cfi("same_value", 6), d.cfi("same_value", 6)),
            (d.cfi("escape", *b"\x10\x06\x02\x76\x00"), StoredAt(6, 6, 0)),
        )
    ),
    # what is restored is what held at entry
    (
        [(0x1000, d.cfi("undefined", 16)), (0x1000, d.cfi("same_value", 6)), (0x1000, d.cfi("restore", 16))],
        [state(0x1000, rules=ENTRY | {6: d.cfi("same_value", 6)})],
    ),
    ([(0x1000, d.cfi("same_value", 6)), (0x1000, d.cfi("restore", 6))], [state(0x1000)]),
    # a remembered state comes back whole
    (
        [
            (0x1004, d.cfi("def_cfa", 6, 16)),
            (0x1004, d.cfi("remember_state")),
            (0x1008, d.cfi("def_cfa", 7, 8)),
            (0x1008, d.cfi("undefined", 6)),
            (0x100C, d.cfi("restore_state")),
        ],
        [
            state(0x1000),
            state(0x1004, (6, 16)),
            state(0x1008, rules=ENTRY | {6: d.cfi("undefined", 6)}),
            state(0x100C, (6, 16)),
        ],
    ),
    # the signature of a return address is toggled
    (
        [(0x1004, d.cfi("negate_ra_state")), (0x1008, d.cfi("negate_ra_state"))],
        [state(0x1000), state(0x1004, signed=True), state(0x1008)],
    ),
    # bytes that are not understood make all that follows opaque
    (
        [(0x1004, d.cfi("escape", *b"\x3f")), (0x1008, d.cfi("def_cfa", 7, 8))],
        [state(0x1000), state(0x1004, opaque=True), state(0x1008, opaque=True)],
    ),
    # a CFA in memory is one until the next rule, and so is one that is computed
    (
        [(0x1004, d.cfi("escape", *b"\x0f\x03\x76\x78\x06")), (0x1008, d.cfi("def_cfa", 7, 8))],
        [state(0x1000), state(0x1004, (6, -8), cfa_stored=True), state(0x1008)],
    ),
    (
        [
            (0x1004, d.cfi("escape", *b"\x0f\x03\x77\x08\x22")),
            (0x1008, d.cfi("escape", *b"\x16\x06\x01\x30")),
            (0x100C, d.cfi("def_cfa", 7, 8)),
            (0x1010, d.cfi("restore", 6)),
        ],
        [
            state(0x1000),
            state(0x1004, None),
            state(0x1008, None, rules=ENTRY | {6: Computed(6)}),
            state(0x100C, rules=ENTRY | {6: Computed(6)}),
            state(0x1010),
        ],
    ),
]


@pytest.mark.parametrize(("rules", "states"), STATES)
def test_directives_make_states(rules: list[tuple[int, d.CfiDirective]], states: list[CfiState]) -> None:
    assert list(cfi_states(procedure(*rules), X86)) == lasting(*states)


def test_on_arm64_the_cfa_is_sp_at_entry() -> None:
    assert list(cfi_states(procedure(), ARM64)) == [CfiState(0x1000, 0x1040, (31, 0))]


@pytest.mark.parametrize(
    ("content", "meaning"),
    [
        ("2e 10", NoRule()),
        ("2e 80 01", NoRule()),
        ("0f 03 76 78 06", CfaStoredAt(6, -8)),
        ("0f 04 77 80 01 06", CfaStoredAt(7, 128)),
        ("10 06 02 76 00", StoredAt(6, 6, 0)),
        ("10 06 03 7a f8 7e", StoredAt(6, 10, -136)),
        ("0f 03 77 08 22", CfaComputed()),  # not stored there
        ("0f 05 77 08 23 04 06", CfaComputed()),
        ("0f 01 06", CfaComputed()),
        ("10 06 03 76 00 06", Computed(6)),
        ("16 06 02 76 00", Computed(6)),
        ("16 06 00", Computed(6)),
        ("0f 04 76 78 06", None),  # its length is another
        ("10 06 02 76", None),
        ("2e 80", None),
        ("2e 10 00", None),
        ("", None),
    ],
)
def test_an_escape_means_what_dwarf_says_or_is_left_alone(content: str, meaning: object) -> None:
    assert decode_escape(bytes.fromhex(content)) == meaning
