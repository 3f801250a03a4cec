"""One row on one frame: every rule on every architecture, the ABI's defaults, and what makes a value unknown."""

from dataclasses import replace

import pytest

from testbed.arch import Arch
from testbed.contract.rows import (
    RA_SIGNED,
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
from testbed.contract.unwinder import Frame, FrameKind
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, words
from unwinders.rows.walk import apply

# A frame, the row that is applied to it, and the stack that both are about.


STACK = 0x8000
ARCHES = pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)


def stack(arch: Arch) -> list[tuple[int, bytes]]:
    """Sixteen words 0x4400, 0x4411, ... 0x44ff at STACK; the CFA of these tests is its fifth word."""
    return [(STACK, words(arch, *(0x4400 + 0x11 * i for i in range(16))))]


def cfa_of(arch: Arch) -> int:
    """The CFA of these tests."""
    return STACK + 4 * arch.word


def state(arch: Arch, **registers: int) -> Snapshot:
    """A snapshot at START whose registers all differ."""
    values = {register.name: 0x7000 + i for i, register in enumerate(arch.registers)}
    values |= {arch.pc: START, arch.sp: STACK, **registers}
    return snapshot(arch, values, stack(arch), [LoadedImage(image(arch))])


def frame(at: Snapshot, *, kind: FrameKind = FrameKind.INTERRUPTED, without: tuple[str, ...] = ()) -> Frame:
    """The frame that a row is applied to."""
    return Frame(kind, at.pc, {name: v for name, v in at.registers.items() if name not in without})


def row(arch: Arch, rules: dict[str, Rule] | None = None, *, cfa: Rule | None = None, **kind: object) -> UnwindRow:
    """A row whose CFA is SP + 4 words and whose return address is the word below it, unless told otherwise."""
    rules = {arch.return_address: Offset(-arch.word), **(rules or {})}
    cfa = cfa or RegisterPlus(arch.sp, 4 * arch.word)
    return UnwindRow(0, 1 << 64, cfa, rules, arch.return_address, **kind)  # type: ignore[arg-type]


def callers(at: Snapshot, its_row: UnwindRow, **kind: object) -> Frame:
    """The frame that a row makes of a snapshot's."""
    _, caller = apply(its_row, frame(at, **kind), at)  # type: ignore[arg-type]
    assert caller is not None
    return caller


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
        lambda arch: RegisterPlus(platform(arch).preserved[0], cfa_of(arch) - 0x9000 + arch.word_mask + 1),
        lambda arch: Constant(cfa_of(arch)),
        lambda arch: ValExpression((Operation(0x10, (cfa_of(arch),), 0),)),
        lambda arch: AtRegister(platform(arch).preserved[0], 0),
        lambda arch: ExpressionRule((Operation(0x10, (0x9000,), 0),)),
    ],
    ids=["RegisterPlus", "RegisterPlus around the word", "Constant", "ValExpression", "AtRegister", "ExpressionRule"],
)
def test_every_rule_for_the_cfa(arch: Arch, rule) -> None:  # type: ignore[no-untyped-def]
    values = {register.name: 0 for register in arch.registers} | {arch.pc: START, arch.sp: STACK}
    values[platform(arch).preserved[0]] = 0x9000
    at = snapshot(arch, values, [*stack(arch), (0x9000, words(arch, cfa_of(arch)))])
    cfa, caller = apply(row(arch, cfa=rule(arch)), frame(at), at)
    assert (cfa, caller.pc) == (cfa_of(arch), arch.code_address(0x4433))


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
    assert (cfa, arch.sp in caller.registers, caller.pc) == (None, False, arch.code_address(0x4400))


# a CFA, the rule of the return address, the kind of a frame and the register that it lacks, why it cannot be applied
STOPS: list[tuple[Rule | None, Rule | None, FrameKind, str, tuple[type[Exception], ...], str]] = [
    # a CFA cannot count from itself
    *(
        (cfa, Constant(0), FrameKind.INTERRUPTED, "", (UnsupportedRule, UnknownRegister), "")
        for cfa in (Offset(0), ValOffset(0), SameValue(), Undefined())
    ),
    # nor a rule from a CFA that is not there
    (None, Offset(0), FrameKind.INTERRUPTED, "", (UnsupportedRule,), "counts from the CFA"),
    (RegisterPlus("sp", 0), Offset(0), FrameKind.INTERRUPTED, "sp", (UnknownRegister,), "sp"),
    # A caller's link register is stale: taking it for a return address repeats the frame. x86 has no default.
    (RegisterPlus("sp", 0), None, FrameKind.CALLER, "ra", (UnknownRegister, NoUnwindInfo), "ra"),
]


@ARCHES
@pytest.mark.parametrize(("cfa", "rule", "kind", "lacks", "errors", "said"), STOPS)
def test_what_is_not_known_stops(
    arch: Arch,
    cfa: Rule | None,
    rule: Rule | None,
    kind: FrameKind,
    lacks: str,
    errors: tuple[type[Exception], ...],
    said: str,
) -> None:
    names, at, column = {"sp": arch.sp, "ra": arch.return_address}, state(arch), arch.return_address
    cfa = replace(cfa, register=arch.sp) if isinstance(cfa, RegisterPlus) else cfa
    its_row = UnwindRow(0, 1, cfa, {} if rule is None else {column: rule}, column)
    with pytest.raises(errors, match=names.get(said, said)) as raised:
        apply(its_row, frame(at, kind=kind, without=(names.get(lacks, ""),)), at)
    assert len(errors) == 1 or lacks == "" or type(raised.value) is errors[arch.link is None]


@ARCHES
def test_a_register_whose_rule_cannot_be_evaluated_is_unknown(arch: Arch) -> None:
    one, two, three = platform(arch).preserved[:3]
    call_frame_cfa = ValExpression((Operation(0x9C, (), 0),))
    rules: dict[str, Rule] = {one: Offset(0x1000), two: RegisterPlus("nowhere", 0), three: call_frame_cfa}
    caller = callers(state(arch), row(arch, rules))
    assert {one, two, three}.isdisjoint(caller.registers)
    assert platform(arch).preserved[3] in caller.registers


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
    assert caller.registers["rbx"] == 0x4411


# Where one row finds the return address: on the stack, in the link register, in another column, signed, or nowhere.

RETURN_ADDRESS = 0x4444


@ARCHES
@pytest.mark.parametrize("known", [True, False], ids=["its CFA is known", "its CFA is not known"])
def test_an_undefined_return_address_is_the_root(arch: Arch, known: bool) -> None:
    at = state(arch)
    found = apply(row(arch, {arch.return_address: Undefined()}), frame(at, without=() if known else (arch.sp,)), at)
    assert found == (cfa_of(arch) if known else None, None)


SIGNED = 0x002A_0000_0000_0000 | START
HIGH = 0x8080_0000_0000_0000

# an architecture, the rules and the return-address column of a row, registers, the caller's pc
RETURNS: list[tuple[Arch, dict[str, Rule], str, dict[str, int], int]] = [
    # by default it is in the link register still; the Thumb bit is no part of the pc
    (ARM64, {}, "x30", {"x30": RETURN_ADDRESS}, RETURN_ADDRESS),
    (ARM32, {}, "lr", {"lr": RETURN_ADDRESS}, RETURN_ADDRESS),
    (ARM32, {}, "lr", {"lr": RETURN_ADDRESS | 1}, RETURN_ADDRESS),
    # a callee-saved register, as of `.cfi_return_column x20`: an outlined helper whose return address is kept there
    (ARM64, {}, "x20", {"x20": RETURN_ADDRESS}, RETURN_ADDRESS),
    # no recorded register: column 96 is where GCC's tables for signal frames keep the interrupted pc on arm64
    (ARM64, {"dwarf96": Offset(8)}, "dwarf96", {}, 0x4411),
    # a signed one loses its signature and nothing else; without authentication, paciasp does nothing
    (ARM64, {RA_SIGNED: Constant(1)}, "x30", {"x30": SIGNED}, START),
    (ARM64, {RA_SIGNED: Constant(1)}, "x30", {"x30": HIGH | SIGNED}, HIGH | START),
    (ARM64, {RA_SIGNED: Constant(1)}, "x30", {"x30": START}, START),
    (ARM64, {RA_SIGNED: Constant(0)}, "x30", {"x30": SIGNED}, SIGNED),
]


@pytest.mark.parametrize(("arch", "rules", "column", "registers", "pc"), RETURNS)
def test_the_return_address_is_found(
    arch: Arch, rules: dict[str, Rule], column: str, registers: dict[str, int], pc: int
) -> None:
    caller = callers(state(arch, **registers), UnwindRow(0, 1, RegisterPlus(arch.sp, 0), rules, column))
    assert caller.pc == pc
    assert column not in caller.registers, "the call has overwritten it"


@ARCHES
def test_an_unreadable_return_address_stops(arch: Arch) -> None:
    with pytest.raises(UnreadableMemory) as raised:
        apply(row(arch, {arch.return_address: Offset(0x1000)}), frame(state(arch)), state(arch))
    assert (raised.value.address, raised.value.size) == (cfa_of(arch) + 0x1000, arch.word)


def test_the_caller_of_a_signal_frame_was_interrupted() -> None:
    """Its pc is the next instruction: looking it up by pc - 1 may find the function before it."""
    its_row = row(X86_64, {"rax": Offset(0)}, signal_frame=True)
    caller = callers(state(X86_64), its_row)
    assert (caller.kind, caller.lookup_pc) == (FrameKind.INTERRUPTED, caller.pc)
    assert caller.registers["rax"] == 0x4444


@pytest.mark.parametrize("signal_frame", [False, True])
def test_only_a_signal_frame_knows_the_link_register(signal_frame: bool) -> None:
    its_row = UnwindRow(
        0, 1, RegisterPlus("sp", 0), {"dwarf96": Offset(8), "x30": Offset(16)}, "dwarf96", signal_frame=signal_frame
    )
    assert callers(state(ARM64), its_row).registers.get("x30") == (0x4422 if signal_frame else None)
