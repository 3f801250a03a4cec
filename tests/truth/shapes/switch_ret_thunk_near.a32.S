// summary: threads on stacks of 256 bytes, switched by loads of SP and pc
// frames: t1 = t1
// frames: t1b = t1
// frames: t2 = t2
// frames: t2b = t2
// frames: leaf = leaf, t2
// frames: m1 = main, _start
// undecided: t1 t1b
fn main
    push {r4, lr}
    ldr r0, =area
    str sp, [r0]
    ldr r1, =t1
    ldr r2, =s1
    str r2, [r0, #4]
    str r1, [r0, #8]
    ldr r1, =t2
    ldr r2, =s2
    str r2, [r0, #12]
    str r1, [r0, #16]
    bl go
m1: mov r0, #42
    pop {r4, pc}
    .ltorg
fn go
    ldr r0, =area
    str lr, [r0, #20]
    add r0, r0, #4
    ldm r0, {sp, pc}
    .ltorg
fn t1
    mov r4, #3
t1a: bl sw1
t1b: subs r4, r4, #1
    bne t1a
    ldr r0, =area
    ldr sp, [r0]
    ldr pc, [r0, #20]
    .ltorg
fn sw1
    ldr r0, =area
    add r0, r0, #4
    stm r0, {sp, lr}
    add r0, r0, #8
    ldm r0, {sp, pc}
    .ltorg
fn t2
    push {r5, lr}
t2a: bl sw2
t2b: bl leaf
    b t2a
fn sw2
    ldr r0, =area
    add r0, r0, #12
    stm r0, {sp, lr}
    sub r0, r0, #8
    ldm r0, {sp, pc}
    .ltorg
fn leaf
    bx lr
.bss
.p2align 4
area: .space 32
    .space 256
s1: .space 256
s2: .space 16
