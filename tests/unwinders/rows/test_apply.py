"""One row on one frame: every rule on every architecture, the ABI's defaults, and what makes a value unknown."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    AtExpression,
    AtRegister,
    CfaPlus,
    Constant,
    IsExpression,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, words
from unwinders.rows.apply import apply

STACK = 0x8000
ARCHES = pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)
RETURN_ADDRESS = 0x4444


def stack(arch: Arch) -> list[tuple[int, bytes]]:
    """Sixteen words 0x4400, 0x4411, ... 0x44ff at STACK; the CFA of these tests is its fifth word."""
    return [(STACK, words(arch, *(0x4400 + 0x11 * i for i in range(16))))]


def cfa_of(arch: Arch) -> int:
    return STACK + 4 * arch.word


def state(arch: Arch, **registers: int) -> Snapshot:
    values = {register.name: 0x7000 + i for i, register in enumerate(arch.registers)}
    values |= {arch.pc: START, arch.sp: STACK, **registers}
    return snapshot(arch, values, stack(arch), [LoadedImage(image(arch))])


def frame(at: Snapshot, *, kind: FrameKind = FrameKind.INTERRUPTED, without: tuple[str, ...] = ()) -> Frame:
    return Frame(kind, at.pc, {name: v for name, v in at.registers.items() if name not in without})


def row(arch: Arch, rules: dict[str, Rule] | None = None, *, cfa: Rule | None = None, **kind: object) -> UnwindRow:
    """A row whose CFA is SP + 4 words and whose return address is the word below it, unless told otherwise."""
    rules = {arch.return_address: AtCfa(-arch.word), **(rules or {})}
    cfa = cfa or RegisterPlus(arch.sp, 4 * arch.word)
    return UnwindRow(0, 1 << 64, cfa, rules, arch.return_address, **kind)  # type: ignore[arg-type]


def callers(at: Snapshot, its_row: UnwindRow, **kind: object) -> Frame:
    _, caller = apply(its_row, frame(at, **kind), at)  # type: ignore[arg-type]
    assert caller is not None
    return caller


@ARCHES
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda arch: AtCfa(-2 * arch.word), lambda at: 0x4422),
        (lambda arch: CfaPlus(-3), lambda at: cfa_of(at.arch) - 3),
        (lambda arch: CfaPlus(-cfa_of(arch) - 8), lambda at: at.arch.word_mask - 7),
        (lambda arch: AtRegister(arch.sp, arch.word), lambda at: 0x4411),
        (lambda arch: RegisterPlus(arch.sp, 5), lambda at: STACK + 5),
        (lambda arch: RegisterPlus(arch.sp, -STACK - 8), lambda at: at.arch.word_mask - 7),
        (lambda arch: SameValue(), lambda at: at.registers[at.arch.preserved[0]]),
        (lambda arch: Undefined(), lambda at: None),
        (lambda arch: Constant(77), lambda at: 77),
        (lambda arch: AtExpression((Operation(0x23, (2 * arch.word,), 0),)), lambda at: 0x4466),
        (lambda arch: IsExpression((Operation(0x23, (7,), 0),)), lambda at: cfa_of(at.arch) + 7),
    ],
    ids=[
        "AtCfa",
        "CfaPlus",
        "CfaPlus below zero",
        "AtRegister",
        "RegisterPlus",
        "RegisterPlus below zero",
        "SameValue",
        "Undefined",
        "Constant",
        "AtExpression",
        "IsExpression",
    ],
)
def test_every_rule_for_a_register(arch: Arch, rule, expected) -> None:  # type: ignore[no-untyped-def]
    """Expressions start with the CFA on the stack."""
    name = arch.preserved[0]
    at = state(arch)
    assert callers(at, row(arch, {name: rule(arch)})).registers.get(name) == expected(at)


@ARCHES
@pytest.mark.parametrize(
    "rule",
    [
        lambda arch: RegisterPlus(arch.sp, 4 * arch.word),
        lambda arch: Constant(cfa_of(arch)),
        lambda arch: IsExpression((Operation(0x10, (cfa_of(arch),), 0),)),
        lambda arch: AtRegister(arch.preserved[0], 0),
        lambda arch: AtExpression((Operation(0x10, (0x9000,), 0),)),
    ],
    ids=["RegisterPlus", "Constant", "IsExpression", "AtRegister", "AtExpression"],
)
def test_every_rule_for_the_cfa(arch: Arch, rule) -> None:  # type: ignore[no-untyped-def]
    values = {register.name: 0 for register in arch.registers} | {arch.pc: START, arch.sp: STACK}
    values[arch.preserved[0]] = 0x9000
    at = snapshot(arch, values, [*stack(arch), (0x9000, words(arch, cfa_of(arch)))])
    cfa, caller = apply(row(arch, cfa=rule(arch)), frame(at), at)
    assert caller is not None
    assert (cfa, caller.pc) == (cfa_of(arch), arch.code_address(0x4433))


@ARCHES
@pytest.mark.parametrize("rule", [AtCfa(0), CfaPlus(0), SameValue(), Undefined()], ids=str)
def test_a_cfa_cannot_count_from_itself(arch: Arch, rule: Rule) -> None:
    at = state(arch)
    with pytest.raises((UnsupportedRule, UnknownRegister)):
        apply(row(arch, cfa=rule), frame(at), at)


@ARCHES
def test_an_undefined_return_address_is_the_root(arch: Arch) -> None:
    at = state(arch)
    assert apply(row(arch, {arch.return_address: Undefined()}), frame(at), at) == (cfa_of(arch), None)


@ARCHES
def test_the_root_may_have_a_cfa_that_is_not_known(arch: Arch) -> None:
    at = state(arch)
    assert apply(row(arch, {arch.return_address: Undefined()}), frame(at, without=(arch.sp,)), at) == (None, None)


@ARCHES
def test_defaults_of_the_abi(arch: Arch) -> None:
    """Callee-saved registers keep their value, SP is the CFA, pc the return address; nothing else is known."""
    at = state(arch)
    caller = callers(at, row(arch))
    assert set(caller.registers) == {arch.pc, arch.sp, *arch.preserved}
    assert caller.registers[arch.sp] == cfa_of(arch)
    assert all(caller.registers[name] == at.registers[name] for name in arch.preserved)
    assert caller.pc == caller.registers[arch.pc] == arch.code_address(0x4433)
    assert (caller.kind, caller.lookup_pc) == (FrameKind.CALLER, caller.pc - 1)


@ARCHES
def test_a_rule_for_sp_replaces_its_default(arch: Arch) -> None:
    assert callers(state(arch), row(arch, {arch.sp: AtCfa(0)})).registers[arch.sp] == 0x4444
    assert arch.sp not in callers(state(arch), row(arch, {arch.sp: Undefined()})).registers


@ARCHES
def test_without_a_cfa_sp_is_unknown(arch: Arch) -> None:
    its_row = UnwindRow(0, 1, None, {arch.return_address: AtRegister(arch.sp, 0)}, arch.return_address)
    cfa, caller = apply(its_row, frame(state(arch)), state(arch))
    assert caller is not None
    assert (cfa, arch.sp in caller.registers, caller.pc) == (None, False, arch.code_address(0x4400))


@ARCHES
def test_a_rule_that_needs_a_cfa_where_there_is_none_is_unsupported(arch: Arch) -> None:
    its_row = UnwindRow(0, 1, None, {arch.return_address: AtCfa(0)}, arch.return_address)
    with pytest.raises(UnsupportedRule, match="counts from the CFA"):
        apply(its_row, frame(state(arch)), state(arch))


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
def test_the_return_address_stays_in_the_link_register_by_default(arch: Arch) -> None:
    assert arch.link is not None
    at = state(arch, **{arch.link: RETURN_ADDRESS})
    empty = UnwindRow(0, 1, RegisterPlus(arch.sp, 0), {}, arch.return_address)
    caller = callers(at, empty)
    assert caller.pc == RETURN_ADDRESS
    assert arch.link not in caller.registers, "the call has overwritten it"


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
def test_a_link_register_that_nobody_knows_stops_the_walk(arch: Arch) -> None:
    """A caller's link register is stale: taking it for a return address repeats the frame."""
    at = state(arch)
    empty = UnwindRow(0, 1, RegisterPlus(arch.sp, 0), {}, arch.return_address)
    with pytest.raises(UnknownRegister, match=str(arch.link)):
        apply(empty, frame(at, kind=FrameKind.CALLER, without=(str(arch.link),)), at)


def test_x86_has_no_default_for_the_return_address() -> None:
    empty = UnwindRow(0, 1, RegisterPlus("rsp", 8), {}, "rip")
    with pytest.raises(NoUnwindInfo, match="rip"):
        apply(empty, frame(state(X86_64)), state(X86_64))


def test_a_return_address_column_that_is_a_callee_saved_register() -> None:
    """``.cfi_return_column x20``: an outlined helper whose return address is kept there."""
    its_row = UnwindRow(0, 1, RegisterPlus("sp", 0), {}, "x20")
    caller = callers(state(ARM64, x20=RETURN_ADDRESS), its_row)
    assert caller.pc == RETURN_ADDRESS
    assert "x20" not in caller.registers


def test_a_return_address_column_that_is_no_recorded_register() -> None:
    """Column 96 is where GCC's tables for signal frames keep the interrupted pc on arm64."""
    its_row = UnwindRow(0, 1, RegisterPlus("sp", 0), {"dwarf96": AtCfa(8)}, "dwarf96", signal_frame=True)
    assert callers(state(ARM64), its_row).pc == 0x4411


@ARCHES
def test_a_register_whose_rule_cannot_be_evaluated_is_unknown(arch: Arch) -> None:
    one, two, three = arch.preserved[:3]
    call_frame_cfa = IsExpression((Operation(0x9C, (), 0),))
    rules: dict[str, Rule] = {one: AtCfa(0x1000), two: RegisterPlus("nowhere", 0), three: call_frame_cfa}
    caller = callers(state(arch), row(arch, rules))
    assert {one, two, three}.isdisjoint(caller.registers)
    assert arch.preserved[3] in caller.registers


@ARCHES
def test_an_unreadable_return_address_stops(arch: Arch) -> None:
    with pytest.raises(UnreadableMemory) as raised:
        apply(row(arch, {arch.return_address: AtCfa(0x1000)}), frame(state(arch)), state(arch))
    assert (raised.value.address, raised.value.size) == (cfa_of(arch) + 0x1000, arch.word)


@ARCHES
def test_an_unknown_register_in_the_cfa_stops(arch: Arch) -> None:
    with pytest.raises(UnknownRegister, match=arch.sp):
        apply(row(arch), frame(state(arch), without=(arch.sp,)), state(arch))


@ARCHES
def test_a_value_counted_from_the_cfa_wraps_at_the_word(arch: Arch) -> None:
    name, at = arch.preserved[0], state(arch)
    below_zero = CfaPlus(-cfa_of(arch) - 8)
    assert callers(at, row(arch, {name: below_zero})).registers.get(name) == arch.word_mask - 7


@ARCHES
def test_addresses_wrap_at_the_word(arch: Arch) -> None:
    at = state(arch, **{arch.preserved[0]: arch.word_mask - 7})
    cfa, _ = apply(row(arch, cfa=RegisterPlus(arch.preserved[0], 8 + cfa_of(arch))), frame(at), at)
    assert cfa == cfa_of(arch)


@pytest.mark.parametrize("arch", [ARM64, ARM32], ids=str)
def test_d_registers_are_eight_bytes_wide_everywhere(arch: Arch) -> None:
    stored = 0xFEDC_BA98_7654_3210
    at = state(arch)
    deeper = snapshot(arch, at.registers, [*stack(arch), (0x9000, stored.to_bytes(8, "little"))])
    rules: dict[str, Rule] = {"d8": AtCfa(0x9000 - cfa_of(arch)), "d9": Constant(stored)}
    caller = callers(deeper, row(arch, rules))
    assert (caller.registers["d8"], caller.registers["d9"]) == (stored, stored)


def test_the_thumb_bit_is_no_part_of_the_pc() -> None:
    assert callers(state(ARM32, lr=0x4445), UnwindRow(0, 1, RegisterPlus("sp", 0), {}, "lr")).pc == 0x4444


def test_the_caller_of_a_signal_frame_was_interrupted() -> None:
    """Its pc is the next instruction: looking it up by pc - 1 may find the function before it."""
    its_row = row(X86_64, {"rax": AtCfa(0)}, signal_frame=True)
    caller = callers(state(X86_64), its_row)
    assert (caller.kind, caller.lookup_pc) == (FrameKind.INTERRUPTED, caller.pc)
    assert caller.registers["rax"] == 0x4444


@pytest.mark.parametrize("signal_frame", [False, True])
def test_only_a_signal_frame_knows_the_link_register(signal_frame: bool) -> None:
    its_row = UnwindRow(
        0, 1, RegisterPlus("sp", 0), {"dwarf96": AtCfa(8), "x30": AtCfa(16)}, "dwarf96", signal_frame=signal_frame
    )
    assert callers(state(ARM64), its_row).registers.get("x30") == (0x4422 if signal_frame else None)


def test_expressions_move_with_the_image() -> None:
    """DW_OP_addr holds a link-time address."""
    at = state(X86_64)
    its_row = row(X86_64, {"rbx": AtExpression((Operation(0x03, (8,), 0),))})
    _, caller = apply(its_row, frame(at), at, STACK)
    assert caller is not None
    assert caller.registers["rbx"] == 0x4411


def test_a_signed_return_address_loses_its_signature_and_nothing_else() -> None:
    signed = 0x002A_0000_0000_0000 | START
    its_row = UnwindRow(0, 1, RegisterPlus("sp", 0), {RA_SIGNED: Constant(1)}, "x30")
    at = state(ARM64, x30=signed)
    assert callers(at, its_row).pc == START
    assert callers(state(ARM64, x30=0x8080_0000_0000_0000 | signed), its_row).pc == 0x8080_0000_0000_0000 | START
    assert callers(state(ARM64, x30=START), its_row).pc == START, "without authentication, paciasp does nothing"
    unsigned = UnwindRow(0, 1, RegisterPlus("sp", 0), {RA_SIGNED: Constant(0)}, "x30")
    assert callers(at, unsigned).pc == signed
