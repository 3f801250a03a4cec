"""ORC rows of interrupted code, applied; then the strategy."""

from __future__ import annotations

from testbed.contract.rows import (
    ExpressionRule,
)
from testbed.conventions import platform
from tests.unwinders.formats.orc_made import (
    INTERRUPT,
    LAYOUTS,
    OLD,
    REGISTERS,
    R,
    applied,
    bits,
    one,
)
from tests.unwinders.frames import X86_64, words
from unwinders.formats.orc import OrcLayout

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
