"""Frames that no compiler makes, of libraries that people use: what is right about them is not told as wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.checks.sources import check_of

pytest.importorskip("ziglang", reason="needs pip install ziglang")

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
