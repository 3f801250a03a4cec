"""CFI directives run over a procedure: what holds at each pc, and what the bytes of an escape mean."""

from __future__ import annotations

import pytest

from testbed.build import directives as d
from testbed.build.tables.cfi_states import CfiState, cfi_states
from testbed.build.tables.escapes import CfaComputed, CfaStoredAt, Computed, NoRule, StoredAt, decode_escape
from testbed.words.errors import BuildError
from tests.build.procedures import ARM64, X86, procedure

ENTRY = {16: d.cfi("offset", 16, -8)}


def states(*rules: tuple[int, d.CfiDirective]) -> list[CfiState]:
    return list(cfi_states(procedure(*rules), X86))


def test_without_directives_the_rules_of_the_abi_hold() -> None:
    assert states() == [CfiState(0x1000, 0x1040, (7, 8), rules=ENTRY)]
    assert list(cfi_states(procedure(), ARM64)) == [CfiState(0x1000, 0x1040, (31, 0))]


@pytest.mark.parametrize(
    ("rule", "cfa"),
    [
        (d.cfi("def_cfa", 6, 16), (6, 16)),
        (d.cfi("def_cfa_offset", 24), (7, 24)),
        (d.cfi("def_cfa_register", 6), (6, 8)),
        (d.cfi("adjust_cfa_offset", -4), (7, 4)),
    ],
)
def test_directives_that_move_the_cfa(rule: d.CfiDirective, cfa: tuple[int, int]) -> None:
    before, after = states((0x1008, rule))
    assert (before.start, before.end, before.cfa) == (0x1000, 0x1008, (7, 8))
    assert (after.start, after.end, after.cfa) == (0x1008, 0x1040, cfa)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (d.cfi("offset", 6, -16), d.cfi("offset", 6, -16)),
        (d.cfi("rel_offset", 6, 0), d.cfi("offset", 6, -8)),
        (d.cfi("val_offset", 6, -8), d.cfi("val_offset", 6, -8)),
        (d.cfi("register", 6, 3), d.cfi("register", 6, 3)),
        (d.cfi("undefined", 6), d.cfi("undefined", 6)),
        (d.cfi("same_value", 6), d.cfi("same_value", 6)),
        (d.cfi("escape", *b"\x10\x06\x02\x76\x00"), StoredAt(6, 6, 0)),
    ],
)
def test_directives_that_say_where_a_register_is(rule: d.CfiDirective, said: object) -> None:
    (state,) = states((0x1000, rule))
    assert state.rules == ENTRY | {6: said}


def test_restore_is_what_held_at_entry() -> None:
    (state,) = states(
        (0x1000, d.cfi("undefined", 16)), (0x1000, d.cfi("same_value", 6)), (0x1000, d.cfi("restore", 16))
    )
    assert state.rules == ENTRY | {6: d.cfi("same_value", 6)}
    assert states((0x1000, d.cfi("same_value", 6)), (0x1000, d.cfi("restore", 6)))[0].rules == ENTRY


def test_a_remembered_state_comes_back_whole() -> None:
    rules = [
        (0x1004, d.cfi("def_cfa", 6, 16)),
        (0x1004, d.cfi("remember_state")),
        (0x1008, d.cfi("def_cfa", 7, 8)),
        (0x1008, d.cfi("undefined", 6)),
        (0x100C, d.cfi("restore_state")),
    ]
    first, framed, left, again = states(*rules)
    assert [first.cfa, framed.cfa, left.cfa, again.cfa] == [(7, 8), (6, 16), (7, 8), (6, 16)]
    assert (again.start, again.rules) == (0x100C, framed.rules)
    with pytest.raises(BuildError, match=r"without \.cfi_remember_state"):
        states((0x1004, d.cfi("restore_state")))


def test_the_signature_of_a_return_address_is_toggled() -> None:
    found = list(cfi_states(procedure((0x1004, d.cfi("negate_ra_state")), (0x1008, d.cfi("negate_ra_state"))), ARM64))
    assert [state.signed for state in found] == [False, True, False]


def test_bytes_that_are_not_understood_make_all_that_follows_opaque() -> None:
    found = states((0x1004, d.cfi("escape", *b"\x3f")), (0x1008, d.cfi("def_cfa", 7, 8)))
    assert [state.opaque for state in found] == [False, True, True]


def test_a_cfa_in_memory_is_one_until_the_next_rule() -> None:
    found = states((0x1004, d.cfi("escape", *b"\x0f\x03\x76\x78\x06")), (0x1008, d.cfi("def_cfa", 7, 8)))
    assert [(state.cfa, state.cfa_stored) for state in found] == [((7, 8), False), ((6, -8), True), ((7, 8), False)]


def test_what_is_computed_is_so_until_the_next_rule() -> None:
    found = states(
        (0x1004, d.cfi("escape", *b"\x0f\x03\x77\x08\x22")),
        (0x1008, d.cfi("escape", *b"\x16\x06\x01\x30")),
        (0x100C, d.cfi("def_cfa", 7, 8)),
        (0x1010, d.cfi("restore", 6)),
    )
    assert [state.cfa for state in found] == [(7, 8), None, None, (7, 8), (7, 8)]
    assert [state.rules.get(6) for state in found] == [None, None, Computed(6), Computed(6), None]
    assert not any(state.opaque for state in found)


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
