// summary: two generators beside each other; on 32-bit ARM the first one is entered by a pop of pc to the very next address
// frames: gen = gen
// frames: inner = inner, gen
// frames: i1 = inner, gen
// frames: g1 = gen
// frames: m1 = main, _start
// frames: m2 = main, _start
fn main
    push {r4, r5, r6, lr}
    ldr r0, =one
    bl make
    mov r4, r0
    ldr r0, =two
    bl make
    mov r5, r0
    movs r6, #3
more: mov r0, r4
    bl resume
m1: mov r4, r0
    mov r0, r5
    bl resume
m2: mov r5, r0
    subs r6, r6, #1
    bne more
    movs r0, #42
    pop {r4, r5, r6, pc}
    .ltorg
fn make
    ldr r1, =gen
    movs r2, #0
    sub r0, r0, #8
    str r2, [r0]
    str r1, [r0, #4]
    bx lr
    .ltorg
fn resume
    push {r7, lr}
    mov r1, sp
    mov sp, r0
    mov r0, r1
    pop {r7, pc}
fn gen
    nop
g0: bl inner
g1: b g0
fn inner
    push {r7, lr}
    bl resume
i1: pop {r7, pc}
.bss
.p2align 4
    .space 512
one: .space 512
two: .space 64
