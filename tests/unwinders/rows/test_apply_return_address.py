"""Where one row finds the return address: on the stack, in the link register, in another column, signed, or nowhere."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import FrameKind
from testbed.contract.rows import (
    RA_SIGNED,
    Constant,
    Offset,
    RegisterPlus,
    Rule,
    Undefined,
    UnwindRow,
)
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory
from tests.unwinders.frames import ARM32, ARM64, START, X86_64
from tests.unwinders.rows.applied import ARCHES, callers, cfa_of, frame, row, state
from unwinders.rows.apply import apply

RETURN_ADDRESS = 0x4444


@ARCHES
def test_an_undefined_return_address_is_the_root(arch: Arch) -> None:
    at = state(arch)
    assert apply(row(arch, {arch.return_address: Undefined()}), frame(at), at) == (cfa_of(arch), None)


@ARCHES
def test_the_root_may_have_a_cfa_that_is_not_known(arch: Arch) -> None:
    at = state(arch)
    assert apply(row(arch, {arch.return_address: Undefined()}), frame(at, without=(arch.sp,)), at) == (None, None)


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


@pytest.mark.parametrize(
    ("arch", "column", "error"),
    [(ARM64, "x30", UnknownRegister), (ARM32, "lr", UnknownRegister), (X86_64, "rip", NoUnwindInfo)],
)
def test_a_return_address_that_nobody_knows_stops_the_walk(arch: Arch, column: str, error: type[Exception]) -> None:
    """A caller's link register is stale: taking it for a return address repeats the frame. x86 has no default."""
    at, empty = state(arch), UnwindRow(0, 1, RegisterPlus(arch.sp, 0), {}, column)
    with pytest.raises(error, match=column):
        apply(empty, frame(at, kind=FrameKind.CALLER, without=(column,)), at)


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
