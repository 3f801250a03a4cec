"""Call frame instructions about registers and states, in the order of DWARF 5 sections 6.4.2.3 to 6.4.2.5."""

from __future__ import annotations

import pytest

from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    CfaPlus,
    IsExpression,
    Operation,
    RegisterPlus,
    SameValue,
    Undefined,
)
from testbed.words.errors import MalformedTable
from tests.unwinders.cfi_programs import DEF_CFA, rule
from tests.unwinders.frames import (
    ARM32,
    ARM64,
    block,
    rows,
    sleb,
    uleb,
)


def test_undefined() -> None:
    assert rule(b"\x07\x03") == Undefined()


def test_same_value() -> None:
    assert rule(b"\x08\x03") == SameValue()


def test_offset() -> None:
    assert rule(b"\x83\x02") == AtCfa(-16)


def test_offset_extended() -> None:
    assert rule(b"\x05" + uleb(72) + uleb(3), "d8", b"\x0c\x1f\x00", arch=ARM64) == AtCfa(-24)
    assert rule(b"\x05" + uleb(264) + uleb(2), "d8", b"\x0c\x0d\x00", arch=ARM32, data=-4) == AtCfa(-8)


def test_offset_extended_sf() -> None:
    assert rule(b"\x11\x03" + sleb(-2)) == AtCfa(16)


def test_val_offset() -> None:
    assert rule(b"\x14\x03\x02") == CfaPlus(-16)


def test_val_offset_sf() -> None:
    assert rule(b"\x15\x03" + sleb(-2)) == CfaPlus(16)


def test_register() -> None:
    assert rule(b"\x09\x03\x0c") == RegisterPlus("r12", 0)


def test_expression() -> None:
    assert rule(b"\x10\x03" + block(b"\x76\x70")) == AtExpression((Operation(0x76, (-16,), 0),))


def test_val_expression() -> None:
    assert rule(b"\x16\x03" + block(b"\x76\x70")) == IsExpression((Operation(0x76, (-16,), 0),))


@pytest.mark.parametrize("restore", [b"\xc3", b"\x06\x03"], ids=["restore", "restore_extended"])
def test_restore_goes_back_to_the_rule_of_the_cie(restore: bytes) -> None:
    assert rule(b"\x07\x03" + restore, initial=DEF_CFA + b"\x83\x02") == AtCfa(-16)


@pytest.mark.parametrize("restore", [b"\xc3", b"\x06\x03"], ids=["restore", "restore_extended"])
def test_restore_without_a_rule_in_the_cie_goes_back_to_the_default(restore: bytes) -> None:
    assert rule(b"\x83\x02") == AtCfa(-16)
    assert rule(b"\x83\x02" + restore) is None


@pytest.mark.parametrize("restore", [b"\xc3", b"\x06\x03"], ids=["restore", "restore_extended"])
def test_restore_in_a_cie_is_malformed(restore: bytes) -> None:
    with pytest.raises(MalformedTable, match="a CIE restores"):
        rows(b"", DEF_CFA + b"\x83\x02" + restore)


def test_remember_and_restore_state_bring_back_the_registers_and_the_cfa() -> None:
    saved, changed, back = rows(b"\x83\x02\x0a\x41\x07\x03\x0c\x06\x20\x41\x0b", DEF_CFA)
    assert (changed.cfa, changed.registers["rbx"]) == (RegisterPlus("rbp", 32), Undefined())
    assert (back.cfa, back.registers) == (saved.cfa, saved.registers) == (RegisterPlus("rsp", 8), {"rbx": AtCfa(-16)})


def test_remembered_states_nest() -> None:
    ends = [row.cfa for row in rows(b"\x0a\x0e\x10\x0a\x0e\x18\x41\x0b\x41\x0b", DEF_CFA)]
    assert ends == [RegisterPlus("rsp", 24), RegisterPlus("rsp", 16), RegisterPlus("rsp", 8)]


def test_restore_state_without_a_remembered_one_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="no row is remembered"):
        rows(b"\x0a\x0b\x0b", DEF_CFA)


def test_a_state_remembered_in_the_cie_is_not_there_in_the_fde() -> None:
    with pytest.raises(MalformedTable, match="no row is remembered"):
        rows(b"\x0b", DEF_CFA + b"\x0a")


def test_endless_remembering_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="more than 1024 remembered"):
        rows(b"\x0a" * 1025, DEF_CFA)
