"""Snippets with non-local transfers: longjmp, a landing pad, a coroutine."""

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


# Snippets with calls and jumps that are easily mistaken for each other.


TAIL = {
    "x86_64": """
fn main
    sub rsp, 8
    call first
    add rsp, 8
    ret
fn first
    push rbx
first_body:
    pop rbx
    jmp second
fn second
    sub rsp, 24
second_body:
    mov eax, 42
    add rsp, 24
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl first
    ldp x29, x30, [sp], #16
    ret
fn first
    stp x29, x30, [sp, #-16]!
first_body:
    ldp x29, x30, [sp], #16
    b second
fn second
    sub sp, sp, #32
second_body:
    mov x0, #42
    add sp, sp, #32
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl first
    pop {r4, pc}
fn first
    push {r4, lr}
first_body:
    pop {r4, lr}
    b second
fn second
    sub sp, sp, #32
second_body:
    mov r0, #42
    add sp, sp, #32
    bx lr
""",
}


TAIL["thumb"] = TAIL["a32"].replace("pop {r4, lr}", "pop.w {r4, lr}")


RETPOLINE = """
fn main
    sub rsp, 8
    lea r11, [rip + target]
    call thunk
back:
    lea r11, [rip + target]
    call thunk
    add rsp, 8
    ret
fn thunk
    call set_up
spin:
    pause
    jmp spin
set_up:
    mov [rsp], r11
leave:
    ret
fn target
    push rbx
target_body:
    call leaf
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
"""


BL_AS_JUMP = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl far
    udf #0
far:
    mov x1, #3
again:
    bl leaf
    subs x1, x1, #1
    b.ne again
    bl last
    udf #0
last:
    ldp x29, x30, [sp], #16
last_return:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl far
    udf #0
far:
    mov r1, #3
again:
    bl leaf
    subs r1, r1, #1
    bne again
    bl last
    udf #0
last:
    pop {r4, lr}
last_return:
    bx lr
fn leaf
    mov r0, #42
    bx lr
""",
}


BL_AS_JUMP["thumb"] = BL_AS_JUMP["a32"].replace("pop {r4, lr}", "pop.w {r4, lr}")


# A coroutine on a stack of its own, on each instruction set.


COROUTINE = {
    "x86_64": """
fn main
    push rbx
    push rbp
    sub rsp, 24
    lea rbx, [rip + their_end - 24]
    lea rax, [rip + co]
    mov [rbx + 16], rax
    mov [rsp + 8], rbx
    mov rdi, rsp
    lea rsi, [rsp + 8]
    mov rbx, rsp
    call switch
back_1:
    mov rdi, rbx
    lea rsi, [rbx + 8]
    call switch
back_2:
    call leaf
    add rsp, 24
    pop rbp
    pop rbx
    ret
fn switch
    push rbx
    push rbp
    mov [rdi], rsp
    mov rsp, [rsi]
switched:
    pop rbp
    pop rbx
    ret
fn co
    mov rbx, rdi
    mov ecx, 3
spin:
    dec ecx
    jnz spin
    call work
    ud2
fn work
    sub rsp, 8
work_body:
    lea rdi, [rbx + 8]
    mov rsi, rbx
    call switch
resumed:
    call leaf
    lea rdi, [rbx + 8]
    mov rsi, rbx
    call switch
    ud2
fn leaf
    mov eax, 42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    str x19, [sp, #16]
    adrp x9, their_end
    add x9, x9, :lo12:their_end
    sub x9, x9, #32
    adr x10, co
    str x10, [x9, #8]
    add x19, sp, #32
    str x9, [x19, #8]
    mov x0, x19
    add x1, x19, #8
    bl switch
back_1:
    mov x0, x19
    add x1, x19, #8
    bl switch
back_2:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
fn switch
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x9, sp
    str x9, [x0]
    ldr x9, [x1]
    mov sp, x9
switched:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
    udf #0
fn co
    mov x19, x0
    mov x2, #3
spin:
    subs x2, x2, #1
    b.ne spin
    bl work
    udf #0
fn work
    stp x29, x30, [sp, #-16]!
work_body:
    add x0, x19, #8
    mov x1, x19
    bl switch
resumed:
    bl leaf
    add x0, x19, #8
    mov x1, x19
    bl switch
    udf #0
fn leaf
    mov x0, #42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
""",
}
