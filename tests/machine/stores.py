"""Snippets that store, in loops, calls and IT blocks. `STORES` exit with 42, `IT_STORES` with 15."""

from __future__ import annotations

# Stores of every size, across granules and unaligned; floating-point registers; loops; calls.
STORES = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 96
    mov ecx, 20
loop:
    mov [rsp + rcx], cl
    mov [rsp + rcx + 31], cx
    mov [rsp + 2*rcx + 3], ecx
    mov [rsp + rcx + 5], rbx
    movq xmm0, rbx
    punpcklqdq xmm0, xmm0
    movups [rsp + rcx + 41], xmm0
    call bump
    dec ecx
    jnz loop
    mov rdi, rsp
    mov ecx, 5
    mov al, 0x55
    rep stosb
    xor [rsp + 8], rbx
    mov eax, 42
    leave
    ret
fn bump
    add rbx, 0x1234567
    push rbx
    pop rdx
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-128]!
    mov x29, sp
    mov x1, #20
loop:
    add x2, sp, x1
    strb w1, [x2, #17]
    strh w1, [x2, #33]
    stur w20, [x2, #41]
    stur x21, [x2, #51]
    stp x22, x23, [sp, #64]
    fmov d8, x24
    stur q8, [x2, #70]
    bl bump
    subs x1, x1, #1
    b.ne loop
    mov x0, #42
    ldp x29, x30, [sp], #128
    ret
fn bump
    add x20, x20, #0x123
    add x24, x24, x20
    str x20, [sp, #-16]!
    ldr x3, [sp], #16
    ret
""",
    "a32": """
fn main
    push {r4, r5, r11, lr}
    sub sp, sp, #128
    mov r1, #20
loop:
    add r2, sp, r1
    strb r1, [r2, #17]
    strh r1, [r2, #33]
    str r6, [r2, #41]
    strd r8, r9, [sp, #64]
    vmov d8, r6, r8
    vstr d8, [sp, #80]
    vpush {d8-d9}
    vpop {d8-d9}
    bl bump
    subs r1, r1, #1
    bne loop
    mov r0, #42
    add sp, sp, #128
    pop {r4, r5, r11, pc}
fn bump
    add r6, r6, #0x120
    tst r1, #1
    ite eq
    addeq r8, r8, r6
    pushne {r6}
    it ne
    popne {r3}
    bx lr
""",
}


STORES["thumb"] = STORES["a32"]


IT_STORES = """
fn main
    push {r4, r5, r6, lr}
    sub sp, sp, #8
    mov r4, #5
    mov r5, #0
loop:
    tst r4, #1
    it ne
    strne r4, [sp]
    adds r5, r5, #3
    tst r4, #1
    itete eq
    streq r5, [sp]
    ldrne r6, [sp, #4]
    ldreq r6, [sp]
    strne r4, [sp, #4]
    subs r4, r4, #1
    bne loop
    mov r0, r5
    add sp, sp, #8
    pop {r4, r5, r6, pc}
"""
