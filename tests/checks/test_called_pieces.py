"""Which code of a file is called: what others can call always, the rest where its first row is a function's."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind, HowKnown
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

pytest.importorskip("ziglang", reason="needs pip install ziglang")

EARLY = """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        push    %rbx
        mov     %rdi, %rbx
        pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
"""
# As GCC writes a part that holds a landing pad only: the no-operation keeps its offset from being 0.
LANDING_PAD = """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   f, .-f
        .cfi_startproc
        nop
        .cfi_def_cfa_offset 48
        .cfi_offset %rbx, -32
        mov     %rax, %rdi
        call    elsewhere
        ud2
        .cfi_endproc
"""
# A way back that two functions jump to, with their frame.
SHARED_END = """
        .syntax unified
        .arm
        .cfi_sections .debug_frame
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        mov     r0, #1
        bx      lr
        .cfi_endproc
        .size   f, .-f
        .type   back, %function
back:   .cfi_startproc
        .cfi_rel_offset sp, 0
        .cfi_rel_offset lr, 4
        ldm     sp, {sp, pc}
        .cfi_endproc
        .size   back, .-back
"""


def checked(folder: Path, text: str, arch: str = "x86_64") -> FileCheck:
    path = folder / "code.S"
    path.write_text(text, encoding="utf-8")
    return check_file(path, CheckOptions(arch=arch, runs=20, steps=60), READERS)


def test_directives_before_the_first_instruction_are_found(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, EARLY).findings
    assert (finding.kind, finding.evidence, finding.where) == (FindingKind.WRONG_ROW, HowKnown.EXECUTED, "f")
    assert finding.things[0].says == "CFA = rsp+0x10" and finding.line == 8


@pytest.mark.parametrize(("text", "arch", "named"), [(LANDING_PAD, "x86_64", ""), (SHARED_END, "arm32", " (back)")])
def test_a_part_of_a_function_is_not_called_and_that_is_said(tmp_path: Path, text: str, arch: str, named: str) -> None:
    check = checked(tmp_path, text, arch)
    assert [function.name for function in check.functions] == ["f"]
    assert not check.findings
    assert any(note.startswith(f"not called, 1 place of code{named}: ") for note in check.notes), check.notes
