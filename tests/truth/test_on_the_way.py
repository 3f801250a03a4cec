"""Jumps between the write of SP and the arrival: of `longjmp`, and of a switch that comes back to a stub."""

from __future__ import annotations

import pytest

from testbed.campaign.prove import prove
from tests.truth.jumps import LONGJMP, MARK
from tests.truth.watched import labels_where, watch

# `longjmp` asks what else it has to restore when SP is the target's already: glibc's for ARM does.
BRANCH = {
    "x86_64": "switched:\n    jmp past\n    ud2\npast:\n    nop\n",
    "arm64": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
    "a32": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
    "thumb": "switched:\n    b past\n    udf #0\npast:\n    nop\n",
}
BEHIND = {"x86_64": "past+0x1", "arm64": "past+0x4", "a32": "past+0x8", "thumb": "past+0x4"}


@pytest.mark.parametrize("isa", LONGJMP)
def test_longjmp_branches_after_it_has_the_targets_sp(isa: str) -> None:
    body = LONGJMP[isa] + MARK[isa].replace("switched:\n", BRANCH[isa])
    truth = watch(
        isa,
        body,
        "mark = mark, main, _start",
        "inner_body = inner, middle, main, _start",
        "past = inner, middle, main, _start",
        "landed = main, _start",
        "leaf = leaf, main, _start",
    )
    assert {"switched", "past"} <= labels_where(truth, truth.transition)
    assert "landed" not in labels_where(truth, truth.transition)
    assert not prove(truth).dissents


# What is saved of who leaves is the address of a stub, which returns for it: as glibc's `swapcontext` for arm64 does.
STUB = {
    "x86_64": """
fn main
    push rbx
    lea rbx, [rip + slots]
    lea rax, [rip + theirs_end]
    mov [rbx + 16], rax
    lea rax, [rip + other]
    mov [rbx + 24], rax
    mov rdi, rbx
    lea rsi, [rbx + 16]
    call swap
in_main:
    mov rdi, rbx
    lea rsi, [rbx + 16]
    call swap
again:
    mov eax, 42
    pop rbx
    ret
fn swap
    mov [rdi], rsp
    lea rcx, [rip + stub]
    mov [rdi + 8], rcx
    mov rdx, [rsi + 8]
    mov rsp, [rsi]
gone:
    jmp rdx
    ud2
stub:
    nop
    ret
fn other
    call work
    ud2
fn work
    sub rsp, 8
working:
    lea rdi, [rbx + 16]
    mov rsi, rbx
    call swap
worked:
    lea rdi, [rbx + 16]
    mov rsi, rbx
    call swap
    ud2
.bss
.p2align 4
slots: .space 64
theirs: .space 1024
theirs_end: .space 64
""",
    "arm64": """
fn main
    stp x19, x30, [sp, #-16]!
    adrp x19, slots
    add x19, x19, :lo12:slots
    add x9, x19, #1024
    str x9, [x19, #24]
    adr x9, other
    str x9, [x19, #32]
    mov x0, x19
    add x1, x19, #24
    bl swap
in_main:
    mov x0, x19
    add x1, x19, #24
    bl swap
again:
    mov x0, #42
    ldp x19, x30, [sp], #16
    ret
fn swap
    mov x9, sp
    adr x10, stub
    stp x9, x10, [x0]
    str x30, [x0, #16]
    ldp x9, x10, [x1]
    ldr x11, [x1, #16]
    mov sp, x9
gone:
    br x10
    udf #0
stub:
    mov x30, x11
    ret
fn other
    bl work
    udf #0
fn work
    str x30, [sp, #-16]!
working:
    add x0, x19, #24
    mov x1, x19
    bl swap
worked:
    add x0, x19, #24
    mov x1, x19
    bl swap
    udf #0
.bss
.p2align 4
slots: .space 1024
theirs_end: .space 64
""",
    "a32": """
fn main
    push {r4, lr}
    ldr r4, =slots
    ldr r1, =theirs_end
    str r1, [r4, #12]
    ldr r1, =other
    str r1, [r4, #16]
    mov r0, r4
    add r1, r4, #12
    bl swap
in_main:
    mov r0, r4
    add r1, r4, #12
    bl swap
again:
    mov r0, #42
    pop {r4, pc}
    .ltorg
fn swap
    mov r2, sp
    ldr r3, =stub
    THUMB_BIT
    str r2, [r0]
    str r3, [r0, #4]
    str lr, [r0, #8]
    ldr r2, [r1]
    ldr r3, [r1, #4]
    ldr r12, [r1, #8]
    mov sp, r2
gone:
    bx r3
    udf #0
stub:
    mov lr, r12
    bx lr
    .ltorg
fn other
    bl work
    udf #0
fn work
    push {r5, lr}
working:
    add r0, r4, #12
    mov r1, r4
    bl swap
worked:
    add r0, r4, #12
    mov r1, r4
    bl swap
    udf #0
.bss
.p2align 4
slots: .space 64
theirs: .space 1024
theirs_end: .space 64
""",
}
STUB["thumb"] = STUB["a32"].replace("THUMB_BIT", "orr r3, r3, #1")
STUB["a32"] = STUB["a32"].replace("THUMB_BIT", "")


@pytest.mark.parametrize("isa", STUB)
def test_a_stub_goes_on_for_who_was_left(isa: str) -> None:
    truth = watch(
        isa,
        STUB[isa],
        "swap#1 = swap, main, _start",
        "other = other",
        "working = work, other",
        "stub#1 = swap, main, _start",
        "in_main = main, _start",
        "stub#2 = swap, work, other",
        "worked = work, other",
        "stub#3 = swap, main, _start",
        "again = main, _start",
    )
    assert labels_where(truth, truth.transition) == {"gone"}
    assert len([activation for activation in truth.activations if activation.parent is None]) == 2
    assert not prove(truth).dissents
