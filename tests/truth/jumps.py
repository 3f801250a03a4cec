"""Snippets with non-local transfers: longjmp, a landing pad, a coroutine."""

from __future__ import annotations

# main marks a place, calls middle, which calls inner, which jumps back to the mark: `mark` returns a second time.
MARK = {
    "x86_64": """
fn mark
    lea rax, [rsp + 8]
    mov [rbx], rax
    mov rax, [rsp]
    mov [rbx + 8], rax
    xor eax, eax
    ret
fn middle
    sub rsp, 24
    call inner
    ud2
fn inner
    sub rsp, 40
    mov rdx, [rbx + 8]
    mov eax, 1
inner_body:
    mov rsp, [rbx]
switched:
    jmp rdx
""",
    "arm64": """
fn mark
    mov x9, sp
    stp x9, x30, [x19]
    mov x0, #0
    ret
fn middle
    stp x29, x30, [sp, #-32]!
    bl inner
    udf #0
fn inner
    sub sp, sp, #48
    ldp x9, x10, [x19]
    mov x0, #1
inner_body:
    mov sp, x9
switched:
    nop
    br x10
""",
    "a32": """
fn mark
    mov r1, sp
    str r1, [r4]
    str lr, [r4, #4]
    mov r0, #0
    bx lr
fn middle
    push {r5, lr}
    bl inner
    udf #0
fn inner
    sub sp, sp, #48
    ldr r1, [r4]
    ldr r2, [r4, #4]
    movs r0, #1
inner_body:
    mov sp, r1
switched:
    nop
    bx r2
""",
}


MARK["thumb"] = MARK["a32"]


LONGJMP = {
    "x86_64": """
fn main
    push rbx
    sub rsp, 16
    mov rbx, rsp
    call mark
    test eax, eax
    jnz landed
    call middle
    ud2
landed:
    call leaf
    add rsp, 16
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    str x19, [sp, #16]
    add x19, sp, #32
    bl mark
    cbnz x0, landed
    bl middle
    udf #0
landed:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    sub sp, sp, #8
    mov r4, sp
    bl mark
    cmp r0, #0
    bne landed
    bl middle
    udf #0
landed:
    bl leaf
    add sp, sp, #8
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}


LONGJMP["thumb"] = LONGJMP["a32"]


LANDING = {
    "x86_64": """
fn main
    sub rsp, 8
    call catcher
main_back:
    add rsp, 8
    ret
fn catcher
    push rbx
    sub rsp, 32
    mov rbx, rsp
    call middle
    ud2
pad:
    call leaf
    add rsp, 32
    pop rbx
    ret
fn middle
    sub rsp, 8
    call thrower
    ud2
fn thrower
    lea rdx, [rip + pad]
    mov rsp, rbx
switched:
    jmp rdx
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl catcher
main_back:
    ldp x29, x30, [sp], #16
    ret
fn catcher
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, sp
    bl middle
    udf #0
pad:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    bl thrower
    udf #0
fn thrower
    adr x9, pad
    mov sp, x19
switched:
    nop
    br x9
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl catcher
main_back:
    pop {r4, pc}
fn catcher
    push {r4, r5, r6, lr}
    mov r4, sp
    bl middle
    udf #0
    .p2align 2
pad:
    bl leaf
    pop {r4, r5, r6, pc}
fn middle
    push {r5, lr}
    bl thrower
    udf #0
fn thrower
    ldr r1, =pad
    THUMB_BIT
    mov sp, r4
switched:
    nop
    bx r1
    .ltorg
fn leaf
    mov r0, #42
    bx lr
""",
}


LANDING["thumb"] = LANDING["a32"].replace("THUMB_BIT", "orr r1, r1, #1")


LANDING["a32"] = LANDING["a32"].replace("THUMB_BIT", "")

# Where a jump to another stack is in transition.
SWITCHED = {"x86_64": {"switched"}, "arm64": {"switched", "switched+0x4"}}
SWITCHED["a32"] = SWITCHED["arm64"]
SWITCHED["thumb"] = {"switched", "switched+0x2"}
