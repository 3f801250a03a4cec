"""Where one row finds the return address: on the stack, in the link register, in another column, signed, or nowhere."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import FrameKind
from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    Constant,
    RegisterPlus,
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
def test_an_unreadable_return_address_stops(arch: Arch) -> None:
    with pytest.raises(UnreadableMemory) as raised:
        apply(row(arch, {arch.return_address: AtCfa(0x1000)}), frame(state(arch)), state(arch))
    assert (raised.value.address, raised.value.size) == (cfa_of(arch) + 0x1000, arch.word)


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


def test_a_signed_return_address_loses_its_signature_and_nothing_else() -> None:
    signed = 0x002A_0000_0000_0000 | START
    its_row = UnwindRow(0, 1, RegisterPlus("sp", 0), {RA_SIGNED: Constant(1)}, "x30")
    at = state(ARM64, x30=signed)
    assert callers(at, its_row).pc == START
    assert callers(state(ARM64, x30=0x8080_0000_0000_0000 | signed), its_row).pc == 0x8080_0000_0000_0000 | START
    assert callers(state(ARM64, x30=START), its_row).pc == START, "without authentication, paciasp does nothing"
    unsigned = UnwindRow(0, 1, RegisterPlus("sp", 0), {RA_SIGNED: Constant(0)}, "x30")
    assert callers(at, unsigned).pc == signed
