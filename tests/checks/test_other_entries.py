"""Rows that suppose another entry, or mean another frame on purpose: noted, and no directive is advised."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.model import FindingKind, Severity
from tests.checks.checked_sources import checked, written

pytest.importorskip("ziglang", reason="needs pip install ziglang")


RESOLVER = """.text
.globl resolve
.type resolve, @function
resolve: .cfi_startproc
 .cfi_adjust_cfa_offset 16
 pushq %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbx, {}
 movq 16(%rsp), %rsi
 movq 8(%rsp), %rdi
 movl $1, %ebx
 call fixup@plt
 movq %rax, %r11
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 {}
 .cfi_adjust_cfa_offset -16
 jmp *%r11
.cfi_endproc
.size resolve, . - resolve
"""


def test_rows_that_suppose_another_entry_are_noted_if_the_function_does_so_too(tmp_path: Path) -> None:
    (note,) = checked(written(tmp_path, RESOLVER.format(0, "addq $16, %rsp"))).findings
    assert (note.kind, note.severity, note.where, note.repair) == (
        FindingKind.OTHER_ENTRY,
        Severity.NOTE,
        "resolve",
        None,
    )
    assert "takes off 0x10 bytes that no call puts there" in note.things[0].true
    note, error = checked(written(tmp_path, RESOLVER.format(8, "addq $16, %rsp"))).findings
    assert (note.kind, error.kind) == (FindingKind.OTHER_ENTRY, FindingKind.WRONG_ROW)
    assert error.repair is not None and error.where == "resolve+0x1"
    wrong = checked(written(tmp_path, RESOLVER.format(0, "nop"))).findings
    assert {each.kind for each in wrong} == {FindingKind.WRONG_ROW}


def test_no_directive_is_advised_where_a_row_means_another_frame_on_purpose(tmp_path: Path) -> None:
    text = (
        ".text\n.globl jump\n.type jump, @function\njump: .cfi_startproc\n movq 8(%rsi), %rcx\n{} nop\n ret\n"
        ".cfi_endproc\n.size jump, . - jump\n"
    )
    rows = ".cfi_def_cfa %rsi, 0\n.cfi_offset %rip, 64\n"
    (wrong,) = checked(written(tmp_path, text.format(rows))).findings
    (meant,) = checked(written(tmp_path, text.format(rows + ".cfi_register %rsp, %rcx\n"))).findings
    assert wrong.repair is not None and meant.repair is None
