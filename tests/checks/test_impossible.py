"""Right tables about which nothing is found: what made-up arguments and answers lead to, and no run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS

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


def check_of(folder: Path, text: str, arch: str) -> FileCheck:
    path = folder / "code.S"
    path.write_text(text, encoding="utf-8")
    return check_file(path, CheckOptions(arch=arch, runs=60, steps=200), READERS)


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


# Too long a length writes over what the function saved, and over its return address. What is called then never ends.
WRITES_OVER_ITS_FRAME = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        subq $16, %rsp
        .cfi_def_cfa_offset 32
        xorl %ebx, %ebx
1:      movq %rdi, (%rsp,%rbx,8)
        incq %rbx
        cmpq $4, %rbx
        jb 1b
2:      addq $1, (%rsp)
        cmpq $0x7fffffff, (%rsp)
        jne 2b
        addq $16, %rsp
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
"""

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


def test_a_path_that_wrote_over_its_own_frame_counts_until_then(tmp_path: Path) -> None:
    assert not check_of(tmp_path, WRITES_OVER_ITS_FRAME, "x86_64").findings
    wrong = WRITES_OVER_ITS_FRAME.replace(".cfi_offset %rbx, -16", ".cfi_offset %rbx, -24")
    assert check_of(tmp_path, wrong, "x86_64").findings


def test_a_path_that_used_up_its_steps_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    assert not check_of(tmp_path, ENDS_IN_A_LOOP, "x86_64").findings


# libffi's `ffi_call_unix64`: the return address goes to where the caller made room, and the CFA counts from there.
MOVES_ITS_RETURN_ADDRESS = """
        .text
        .globl calls
        .type calls, @function
calls:  .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq $96, %rsp
        leaq 16(%rsp), %rdi
        call moves
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size calls, .-calls
        .type moves, @function
moves:  .cfi_startproc
        movq (%rsp), %r10
        movq %r10, 24(%rdi)
        movq %rbp, 16(%rdi)
        movq %rdi, %rbp
        .cfi_def_cfa %rbp, 32
        .cfi_offset %rbp, -16
        movq %rdi, %rsp
        nop
        leaq 16(%rbp), %rsp
        ROW
        popq %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size moves, .-moves
"""


@pytest.mark.parametrize(("row", "wrong"), [("", 0), (".cfi_def_cfa %rsp, 24", 1)])
def test_a_row_may_count_from_where_the_return_address_was_moved(tmp_path: Path, row: str, wrong: int) -> None:
    path = tmp_path / "code.S"
    path.write_text(MOVES_ITS_RETURN_ADDRESS.replace("ROW", row), encoding="utf-8")
    found = check_file(path, CheckOptions(), READERS)
    assert len(found.findings) == wrong, found.findings


# libffi's `ffi_call_SYSV`: the frame lies where an argument says, and its CFA is behind it.
FRAME_IS_AN_ARGUMENT = {
    "arm64": """
        .text
        .globl calls
        .type calls, %function
calls:  .cfi_startproc
        stp x29, x30, [x1]
        .cfi_def_cfa x1, 0
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, SLOT
        mov x9, x29
        mov x29, x1
        .cfi_def_cfa_register x29
        add x0, x0, #1
        ldp x29, x30, [x29]
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size calls, .-calls
""",
    "arm32": """
        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl calls
        .type calls, %function
calls:  .cfi_startproc
        stm r1, {r11, lr}
        .cfi_def_cfa r1, 8
        .cfi_rel_offset r11, 0
        .cfi_rel_offset lr, SLOT
        mov r11, r1
        .cfi_def_cfa_register r11
        add r0, r0, #1
        mov r1, r11
        ldm r11, {r11, lr}
        .cfi_def_cfa sp, 0
        .cfi_restore r11
        .cfi_restore lr
        bx lr
        .cfi_endproc
        .size calls, .-calls
""",
}


@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("arch", FRAME_IS_AN_ARGUMENT)
def test_a_frame_may_lie_where_the_caller_made_room(tmp_path: Path, arch: str, wrong: int) -> None:
    slot = {"arm64": 8, "arm32": 4}[arch] * (1 + wrong)
    found = check_of(tmp_path, FRAME_IS_AN_ARGUMENT[arch].replace("SLOT", str(slot)), arch)
    assert bool(found.findings) == bool(wrong), found.findings
    assert found.total("executed") == found.total("instructions") > 0


# libffi's `ffi_closure_unix64_alt`: a trampoline left two words, and below them is who called.
THROWS_ITS_CALLER_AWAY = """
        .text
        .globl inner
        .type inner, @function
inner:  .cfi_startproc
        subq $24, %rsp
        .cfi_adjust_cfa_offset SIZE
        xorl %eax, %eax
        addq $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size inner, .-inner
        .globl other
        .type other, @function
other:  .cfi_startproc
        movq 8(%rsp), %r10
        addq $16, %rsp
        .cfi_adjust_cfa_offset -16
        jmp inner
        .cfi_endproc
        .size other, .-other
"""


@pytest.mark.parametrize(("size", "first"), [(24, []), (16, ["inner+0x4"])])
def test_code_whose_caller_was_thrown_away_says_nothing(tmp_path: Path, size: int, first: list[str]) -> None:
    found = check_of(tmp_path, THROWS_ITS_CALLER_AWAY.replace("SIZE", str(size)), "x86_64")
    assert [finding.where for finding in found.findings] == first


# BoringSSL's `bn_mul4x_mont`: the CFA lies behind an array in the frame, whose length is an argument that is a multiple
# of four words, as nobody knows.
CFA_BEHIND_AN_ARRAY = """
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        movq %rsp, %rax
        .cfi_def_cfa_register %rax
        pushq %rbx
        .cfi_offset %rbx, -16
        andl $15, %edi
        leaq 64(,%rdi,8), %r10
        subq %r10, %rsp
        movq %rax, 8(%rsp,%rdi,8)
        .cfi_escape 0x0f,0x0a,0x77,0x08,0x75,0x00,0x38,0x1e,0x22,0x06,0x23,LESS
        xorl %r11d, %r11d
1:      movq $7, 8(%rsp,%r11,8)
        movq $9, 16(%rsp,%r11,8)
        leaq 4(%r11), %r11
        cmpq %rdi, %r11
        jb 1b
        movq 8(%rsp,%rdi,8), %rsi
        .cfi_def_cfa %rsi, 8
        movq -8(%rsi), %rbx
        .cfi_restore %rbx
        leaq (%rsi), %rsp
        .cfi_def_cfa_register %rsp
        ret
        .cfi_endproc
        .size f, .-f
"""


@pytest.mark.parametrize(("less", "wrong"), [("0x08", False), ("0x10", True)])
def test_a_path_that_wrote_over_where_its_cfa_lies_counts_until_then(tmp_path: Path, less: str, wrong: bool) -> None:
    found = check_of(tmp_path, CFA_BEHIND_AN_ARRAY.replace("LESS", less), "x86_64")
    assert bool(found.findings) == wrong, found.findings
