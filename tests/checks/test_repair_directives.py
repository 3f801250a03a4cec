"""The directives that a repair advises: where each stands, and that nothing is found once they are written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.checks.sources import check_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

FORGOTTEN_PUSH = """
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        movq %rdi, %rbx
        testq %rdi, %rdi
        je 1f
        incq %rbx
1:      movq %rbx, %rax
        popq %rbx
        ret
        .cfi_endproc
        .size f, .-f
"""

# The CFA moves one instruction too early. Behind that the table remembers the state, which changes nothing there.
REMEMBERED_THERE = """
        .globl f
        .type f, @function
f:      .cfi_startproc
        subq $8, %rsp
        .cfi_def_cfa_offset 16
        testq %rdi, %rdi
        je 1f
        .cfi_def_cfa_offset 8
        addq $8, %rsp
        .cfi_remember_state
        ret
1:      .cfi_restore_state
        .cfi_def_cfa_offset 16
        xorl %eax, %eax
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
"""


def test_a_push_that_the_table_was_not_told_of_is_one_finding(tmp_path: Path) -> None:
    (finding,) = check_of(tmp_path, FORGOTTEN_PUSH, "x86_64").findings
    assert (finding.where, finding.instructions) == ("f+0x1", 6)
    assert finding.repair is not None
    assert finding.repair.directives == (".cfi_def_cfa_offset 0x10", ".cfi_offset rbx, -0x10")
    assert [(later.where, later.directives) for later in finding.repair.later] == [
        ("f+0x10", (".cfi_def_cfa_offset 0x8",)),
    ]
    right = FORGOTTEN_PUSH.replace("movq %rdi", ".cfi_def_cfa_offset 0x10\n.cfi_offset %rbx, -16\nmovq %rdi")
    right = right.replace("        ret", ".cfi_def_cfa_offset 0x8\nret")
    assert not check_of(tmp_path, right, "x86_64").findings


def test_what_a_directive_is_to_end_with_is_said_where_the_table_only_remembers_a_state(tmp_path: Path) -> None:
    (finding,) = check_of(tmp_path, REMEMBERED_THERE, "x86_64").findings
    assert finding.where == "f+0x9"
    assert finding.repair is not None
    assert finding.repair.directives == (".cfi_def_cfa_offset 0x10",)
    assert [(later.where, later.directives) for later in finding.repair.later] == [
        ("f+0xd", (".cfi_def_cfa_offset 0x8",)),
    ]
    right = REMEMBERED_THERE.replace(
        "addq $8, %rsp\n        .cfi_rem", ".cfi_def_cfa_offset 16\naddq $8, %rsp\n.cfi_rem"
    )
    right = right.replace("remember_state", "remember_state\n.cfi_def_cfa_offset 8")
    assert not check_of(tmp_path, right, "x86_64").findings


# An epilogue in mid-function takes the frame back in steps, and behind it nothing says that the frame is there again.
# Of the saved registers some are changed before the second half, one in it.
NOT_RESTORED = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        movl $7, %ebx
        testq %rdi, %rdi
        jne 2f
        popq %r12
        .cfi_def_cfa_offset 16
        .cfi_restore %r12
        popq %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
2:      leaq 1(%rdi), %rax
        leaq 2(%rsi), %rdx
        movq %rdx, %r12
        leaq (%rax,%r12), %rax
        addq %rbx, %rax
        popq %r12
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
"""


def test_the_state_of_a_whole_frame_is_restored_and_not_that_of_a_half(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    path.write_text(NOT_RESTORED, encoding="utf-8")
    (finding,) = check_file(path, CheckOptions(), READERS).findings
    assert finding.repair is not None
    assert finding.repair.directives == (".cfi_restore_state",)
    lines = NOT_RESTORED.splitlines()
    lines.insert(lines.index("        movl $7, %ebx"), "        .cfi_remember_state")
    lines.insert(lines.index("2:      leaq 1(%rdi), %rax"), "        .cfi_restore_state")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert not check_file(path, CheckOptions(), READERS).findings


def test_a_state_is_gone_back_to_where_something_else_is_wrong_that_was_told_before(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    path.write_text(
        ".text\n.globl f\n.type f, @function\nf:\n.cfi_startproc\n xorl %ebx, %ebx\n nop\n"
        ".cfi_def_cfa %rsi, 0\n.cfi_offset %rip, 64\n nop\n ret\n.cfi_endproc\n.size f, . - f\n"
    )
    lost, back = check_file(path, CheckOptions(runs=50, steps=200), READERS).findings
    assert [thing.what for thing in lost.things] == ["rbx"] and lost.repair is None
    assert [thing.what for thing in back.things] == ["CFA", "rip"]
    assert back.repair is not None and back.instructions == back.repair.repaired == 2
