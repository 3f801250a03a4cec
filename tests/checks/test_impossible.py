"""Right tables about which nothing is found: what made-up arguments and answers lead to, and no run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.checks.sources import check_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

# The last instruction calls an import that does not come back, which nobody can know. The next function has a frame.
ENDS_WITH_A_CALL = {
    "x86_64": """
        .text
        .globl ends
        .type ends, @function
ends:   .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        call other
        call gives_up
        FILLING
        .cfi_endproc
        .size ends, .-ends
        .globl next
        .type next, @function
next:   .cfi_startproc
        subq $24, %rsp
        .cfi_def_cfa_offset 32
        call other
        addq $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size next, .-next
""",
    "arm64": """
        .text
        .globl ends
        .type ends, %function
ends:   .cfi_startproc
        stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl other
        bl gives_up
        FILLING
        .cfi_endproc
        .size ends, .-ends
        .globl next
        .type next, %function
next:   .cfi_startproc
        stp x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl other
        ldp x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size next, .-next
""",
}

# Behind the call that does not come back stands code that another branch leads to, with another frame.
GOES_ON_BEHIND_A_CALL = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl %edi, %ebx
        cmpl $3, %edi
        je 1f
        pushq %r12
        .cfi_remember_state
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        xorl %r12d, %r12d
        call gives_up
1:      .cfi_restore_state
        addl $2, %ebx
        movl %ebx, %eax
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
"""

# Without its frame a return loads pc from the stack, as an indirect jump would.
RETURNS_BY_A_LOAD = """
        .syntax unified
        .thumb
        .text
        .globl f
        .type f, %function
f:      .fnstart
        push {lr}
        .save {lr}
        sub sp, #12
        .pad #12
        cmp r0, #3
        bhi 5f
        tbb [pc, r0]
1:      .byte (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, (5f-1b)/2
2:      mov r0, sp
        bl other
        add sp, #12
        ldr pc, [sp], #4
3:      add r0, sp, #4
        bl other
        add sp, #12
        ldr pc, [sp], #4
4:      bl abort
5:      movs r0, #7
        bl other
        add sp, #12
        ldr pc, [sp], #4
        .fnend
        .size f, .-f
"""


@pytest.mark.parametrize("filling", ["", "nop"])
@pytest.mark.parametrize("arch", ENDS_WITH_A_CALL)
def test_a_path_does_not_run_on_into_the_next_function(tmp_path: Path, arch: str, filling: str) -> None:
    check = check_of(tmp_path, ENDS_WITH_A_CALL[arch].replace("FILLING", filling), arch)
    assert not check.findings
    ends = next(function for function in check.functions if function.name == "ends")
    assert ends.executed == ends.instructions, "what fills up a function is no instruction of it"


def test_a_call_that_nobody_comes_back_from_is_no_way_to_what_stands_behind_it(tmp_path: Path) -> None:
    check = check_of(tmp_path, GOES_ON_BEHIND_A_CALL, "x86_64")
    assert not check.findings
    assert check.total("never") == 0
    wrong = GOES_ON_BEHIND_A_CALL.replace(".cfi_def_cfa_offset 8", ".cfi_def_cfa_offset 24")
    assert [finding.where for finding in check_of(tmp_path, wrong, "x86_64").findings] == ["f+0x18"]


def test_a_return_that_loads_pc_is_not_forced_to_a_case(tmp_path: Path) -> None:
    check = check_of(tmp_path, RETURNS_BY_A_LOAD, "arm32")
    assert not check.findings
    assert check.total("never") == 0


def test_a_linkers_own_jumps_are_no_functions_of_the_file(tmp_path: Path) -> None:
    text = ".syntax unified\n.cfi_sections .debug_frame\n.thumb\n.text\n.globl f\n.type f, %function\n"
    check = check_of(tmp_path, text + "f: .cfi_startproc\nb other\n.cfi_endproc\n.size f, .-f\n", "arm32")
    assert [function.name for function in check.functions] == ["f"]
    assert not check.findings


def test_a_signature_that_is_zero_is_a_signature(tmp_path: Path) -> None:
    path = tmp_path / "deep.c"
    path.write_text("int deep(int n) { return n < 2 ? 1 : n * deep(n - 1); }\n", encoding="utf-8")
    options = CheckOptions(arch="arm64", runs=10, steps=5000, flags=("-O0", "-mbranch-protection=pac-ret+leaf"))
    assert not check_file(path, options, READERS).findings


# The loop ends when the steps are used up. The function after it is called from the same stack, with the same SP.
ENDS_IN_A_LOOP = """
        .text
        .globl loops
        .type loops, @function
loops:  .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        call waits
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size loops, .-loops
        .globl waits
        .type waits, @function
waits:  .cfi_startproc
        subq $8, %rsp
        .cfi_def_cfa_offset 16
        jmp 2f
1:      call other
2:      cmpq $0, (%rdi)
        jne 1b
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size waits, .-waits
        .globl later
        .type later, @function
later:  .cfi_startproc
        pushq %r12
        .cfi_def_cfa_offset 16
        .cfi_offset %r12, -16
        movl $7, %r12d
        call waits
        popq %r12
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size later, .-later
"""


def test_a_path_that_used_up_its_steps_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    assert not check_of(tmp_path, ENDS_IN_A_LOOP, "x86_64").findings
