"""One row on one frame: every rule on every architecture, the ABI's defaults, and what makes a value unknown."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import FrameKind
from testbed.contract.rows import (
    AtRegister,
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
from testbed.conventions import platform
from testbed.words.errors import UnknownRegister, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, snapshot, words
from tests.unwinders.rows.applied import ARCHES, STACK, callers, cfa_of, frame, row, stack, state
from unwinders.rows.apply import apply


@ARCHES
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda arch: Offset(-2 * arch.word), lambda at: 0x4422),
        (lambda arch: ValOffset(-3), lambda at: cfa_of(at.arch) - 3),
        (lambda arch: ValOffset(-cfa_of(arch) - 8), lambda at: at.arch.word_mask - 7),
        (lambda arch: AtRegister(arch.sp, arch.word), lambda at: 0x4411),
        (lambda arch: RegisterPlus(arch.sp, 5), lambda at: STACK + 5),
        (lambda arch: RegisterPlus(arch.sp, -STACK - 8), lambda at: at.arch.word_mask - 7),
        (lambda arch: SameValue(), lambda at: at.registers[platform(at.arch).preserved[0]]),
        (lambda arch: Undefined(), lambda at: None),
        (lambda arch: Constant(77), lambda at: 77),
        (lambda arch: Constant((1 << 40) + 77), lambda at: (1 << 40) + 77 & at.arch.word_mask),
        (lambda arch: ExpressionRule((Operation(0x23, (2 * arch.word,), 0),)), lambda at: 0x4466),
        (lambda arch: ValExpression((Operation(0x23, (7,), 0),)), lambda at: cfa_of(at.arch) + 7),
    ],
    ids=[
        "Offset",
        "ValOffset",
        "ValOffset below zero",
        "AtRegister",
        "RegisterPlus",
        "RegisterPlus below zero",
        "SameValue",
        "Undefined",
        "Constant",
        "Constant that is too wide",
        "ExpressionRule",
        "ValExpression",
    ],
)
def test_every_rule_for_a_register(arch: Arch, rule, expected) -> None:  # type: ignore[no-untyped-def]
    """Expressions start with the CFA on the stack."""
    name = platform(arch).preserved[0]
    at = state(arch)
    assert callers(at, row(arch, {name: rule(arch)})).registers.get(name) == expected(at)


@ARCHES
@pytest.mark.parametrize(
    "rule",
    [
        lambda arch: RegisterPlus(arch.sp, 4 * arch.word),
        lambda arch: Constant(cfa_of(arch)),
        lambda arch: ValExpression((Operation(0x10, (cfa_of(arch),), 0),)),
        lambda arch: AtRegister(platform(arch).preserved[0], 0),
        lambda arch: ExpressionRule((Operation(0x10, (0x9000,), 0),)),
    ],
    ids=["RegisterPlus", "Constant", "ValExpression", "AtRegister", "ExpressionRule"],
)
def test_every_rule_for_the_cfa(arch: Arch, rule) -> None:  # type: ignore[no-untyped-def]
    values = {register.name: 0 for register in arch.registers} | {arch.pc: START, arch.sp: STACK}
    values[platform(arch).preserved[0]] = 0x9000
    at = snapshot(arch, values, [*stack(arch), (0x9000, words(arch, cfa_of(arch)))])
    cfa, caller = apply(row(arch, cfa=rule(arch)), frame(at), at)
    assert caller is not None
    assert (cfa, caller.pc) == (cfa_of(arch), arch.code_address(0x4433))


@ARCHES
@pytest.mark.parametrize("rule", [Offset(0), ValOffset(0), SameValue(), Undefined()], ids=str)
def test_a_cfa_cannot_count_from_itself(arch: Arch, rule: Rule) -> None:
    at = state(arch)
    with pytest.raises((UnsupportedRule, UnknownRegister)):
        apply(row(arch, cfa=rule), frame(at), at)


@ARCHES
def test_defaults_of_the_abi(arch: Arch) -> None:
    """Callee-saved registers keep their value, SP is the CFA, pc the return address; nothing else is known."""
    at = state(arch)
    caller = callers(at, row(arch))
    assert set(caller.registers) == {arch.pc, arch.sp, *platform(arch).preserved}
    assert caller.registers[arch.sp] == cfa_of(arch)
    assert all(caller.registers[name] == at.registers[name] for name in platform(arch).preserved)
    assert caller.pc == caller.registers[arch.pc] == arch.code_address(0x4433)
    assert (caller.kind, caller.lookup_pc) == (FrameKind.CALLER, caller.pc - 1)


@ARCHES
def test_a_rule_for_sp_replaces_its_default(arch: Arch) -> None:
    assert callers(state(arch), row(arch, {arch.sp: Offset(0)})).registers[arch.sp] == 0x4444
    assert arch.sp not in callers(state(arch), row(arch, {arch.sp: Undefined()})).registers


@ARCHES
def test_without_a_cfa_sp_is_unknown(arch: Arch) -> None:
    its_row = UnwindRow(0, 1, None, {arch.return_address: AtRegister(arch.sp, 0)}, arch.return_address)
    cfa, caller = apply(its_row, frame(state(arch)), state(arch))
    assert caller is not None
    assert (cfa, arch.sp in caller.registers, caller.pc) == (None, False, arch.code_address(0x4400))


@ARCHES
def test_a_rule_that_needs_a_cfa_where_there_is_none_is_unsupported(arch: Arch) -> None:
    its_row = UnwindRow(0, 1, None, {arch.return_address: Offset(0)}, arch.return_address)
    with pytest.raises(UnsupportedRule, match="counts from the CFA"):
        apply(its_row, frame(state(arch)), state(arch))


@ARCHES
def test_a_register_whose_rule_cannot_be_evaluated_is_unknown(arch: Arch) -> None:
    one, two, three = platform(arch).preserved[:3]
    call_frame_cfa = ValExpression((Operation(0x9C, (), 0),))
    rules: dict[str, Rule] = {one: Offset(0x1000), two: RegisterPlus("nowhere", 0), three: call_frame_cfa}
    caller = callers(state(arch), row(arch, rules))
    assert {one, two, three}.isdisjoint(caller.registers)
    assert platform(arch).preserved[3] in caller.registers


@ARCHES
def test_an_unknown_register_in_the_cfa_stops(arch: Arch) -> None:
    with pytest.raises(UnknownRegister, match=arch.sp):
        apply(row(arch), frame(state(arch), without=(arch.sp,)), state(arch))


@ARCHES
def test_addresses_wrap_at_the_word(arch: Arch) -> None:
    at = state(arch, **{platform(arch).preserved[0]: arch.word_mask - 7})
    cfa, _ = apply(row(arch, cfa=RegisterPlus(platform(arch).preserved[0], 8 + cfa_of(arch))), frame(at), at)
    assert cfa == cfa_of(arch)


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
def test_d_registers_are_eight_bytes_wide_everywhere(arch: Arch) -> None:
    stored = 0xFEDC_BA98_7654_3210
    at = state(arch)
    deeper = snapshot(arch, at.registers, [*stack(arch), (0x9000, stored.to_bytes(8, "little"))])
    rules: dict[str, Rule] = {"d8": Offset(0x9000 - cfa_of(arch)), "d9": Constant(stored)}
    caller = callers(deeper, row(arch, rules))
    assert (caller.registers["d8"], caller.registers["d9"]) == (stored, stored)


def test_expressions_move_with_the_image() -> None:
    """DW_OP_addr holds a link-time address."""
    at = state(X86_64)
    its_row = row(X86_64, {"rbx": ExpressionRule((Operation(0x03, (8,), 0),))})
    _, caller = apply(its_row, frame(at), at, STACK)
    assert caller is not None
    assert caller.registers["rbx"] == 0x4411
