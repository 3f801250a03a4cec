"""Which code a check reaches: behind an exit, by a forced branch only, behind a call of a pointer, called by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.model import FindingKind, HowKnown
from tests.checks.checked_sources import checked, written

pytest.importorskip("ziglang", reason="needs pip install ziglang")


def test_code_that_nobody_calls_is_not_called_and_start_files_are_noted(tmp_path: Path) -> None:
    text = """
        .text
        .globl _start, _init, f
        .type _start, @function
_start: .cfi_startproc
        .cfi_undefined rip
        xor %ebp, %ebp
        and $-16, %rsp
        call f
        hlt
        .cfi_endproc
        .size _start, .-_start
        .type _init, @function
_init:  ret
        .size _init, .-_init
        .type f, @function
f:      .cfi_startproc
        ret
        .cfi_endproc
        .size f, .-f
"""
    found = checked(written(tmp_path, text))
    assert [(each.kind, each.function) for each in found.findings] == [(FindingKind.START_WITHOUT_ROW, "_init")]
    assert [each.name for each in found.functions] == ["_init", "f"]


EXITS = {
    "x86_64": "mov $231, %eax\n syscall",
    "arm64": "mov x8, #94\n svc #0",
    "arm32": "mov r7, #248\n svc #0",
}


@pytest.mark.parametrize("arch", EXITS)
def test_what_lies_behind_an_exit_is_not_entered(tmp_path: Path, arch: str) -> None:
    made = {"x86_64": "sub $24, %rsp", "arm64": "sub sp, sp, #32", "arm32": "sub sp, sp, #16"}[arch]
    undone = {"x86_64": "add $24, %rsp\n ret", "arm64": "add sp, sp, #32\n ret", "arm32": "add sp, sp, #16\n bx lr"}[
        arch
    ]
    size = {"x86_64": 32, "arm64": 32, "arm32": 16}[arch]
    sections = ".cfi_sections .debug_frame\n" if arch == "arm32" else ""
    text = f"""{sections}
        .text
        .globl stops, f
        .type stops, %function
stops:  .cfi_startproc
        {made}
        .cfi_def_cfa_offset {size}
        {EXITS[arch]}
        .cfi_endproc
        .size stops, .-stops
        .type f, %function
f:      .cfi_startproc
        nop
        {made}
        .cfi_def_cfa_offset {size}
        nop
        {undone}
        .cfi_endproc
        .size f, .-f
"""
    found = checked(written(tmp_path, text.replace("%function", "@function") if arch == "x86_64" else text), arch=arch)
    # The return after the frame is taken down has the frame's row still: that is what is wrong with it.
    assert [each.instructions for each in found.findings if each.function == "f"] == [1]


def test_code_that_no_natural_run_reaches_is_forced_and_said_so(tmp_path: Path) -> None:
    text = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        cmp $0x12345678, %rdi
        jne 1f
        push %rbx
        pop %rbx
1:      ret
        .cfi_endproc
        .size f, .-f
"""
    (finding,) = checked(written(tmp_path, text)).findings
    assert finding.evidence is HowKnown.FORCED
    assert [thing.what for thing in finding.things] == ["CFA"]


def test_branches_that_belong_together_are_no_finding(tmp_path: Path) -> None:
    text = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        mov %rdi, %r10
        cmp $0x12345678, %r10
        jne 1f
        push %rbx
        .cfi_adjust_cfa_offset 8
        pop %rbx
        .cfi_adjust_cfa_offset -8
1:      cmp $0x12345678, %r10
        jne 2f
        nop
2:      ret
        .cfi_endproc
        .size f, .-f
"""
    found = checked(written(tmp_path, text))
    assert found.findings == ()
    assert found.total("forced") == 3


def test_what_is_called_by_a_pointer_may_never_return(tmp_path: Path) -> None:
    text = (
        ".text\n.globl f\n.type f, @function\nf: .cfi_startproc\n testq %rdi, %rdi\n jz 3f\n pushq %rax\n"
        ".cfi_def_cfa_offset 16\n call *{}\n.cfi_def_cfa_offset 8\n2: {} ret\n3: nop\n jmp 2b\n"
        ".cfi_endproc\n.size f, . - f\n"
    )
    assert checked(written(tmp_path, text.format("8(%rsi)", ""))).findings == ()
    wrong = text.format("8(%rsi)", "pushq %rbx\n popq %rbx\n")
    assert [finding.where for finding in checked(written(tmp_path, wrong)).findings] == ["f+0xa"]


_FALLS = """
        .globl f, g
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq %rdi, %rbx
        .cfi_endproc
        .size f, .-f
        .p2align 4, 0x90
        .type g, @function
g:      .cfi_startproc
        movl $1, %eax
        ret
        .cfi_endproc
        .size g, .-g
"""


def test_what_falls_off_a_function_is_not_followed_into_the_next(tmp_path: Path) -> None:
    found = checked(written(tmp_path, _FALLS))
    assert not found.findings and found.total("executed") == 4


_STRAY = """
        .globl f, g
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        subq $32, %rsp
        .cfi_def_cfa_offset 48
        call g
        BEHIND
1:      addq $32, %rsp
        .cfi_remember_state
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state
        movq %rax, %rdi
        call g
        jmp 1b
        .cfi_endproc
        .size f, .-f
        .type g, @function
g:      .cfi_startproc
        movl $1, %eax
        ret
        .cfi_endproc
        .size g, .-g
"""


@pytest.mark.parametrize(("behind", "forced"), [("movq %rax, %rbx", 3), ("", 0)])
def test_code_that_nothing_leads_to_is_entered_from_behind_a_call_with_its_frame(
    tmp_path: Path, behind: str, forced: int
) -> None:
    found = checked(written(tmp_path, _STRAY.replace("BEHIND", behind)))
    assert not found.findings and not found.dropped
    assert (found.total("forced"), found.total("never")) == (forced, 3 - forced)
