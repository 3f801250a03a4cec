// summary: a stack less than 4 KiB below, left and gone on with: who was gone goes on
// frames: co = co
// frames: in_c1 = c1, co
// frames: in_co = co
// frames: m1 = main, _start
// frames: m2 = f2, main, _start
// frames: m3 = main, _start
// undecided: co in_c1 in_co
fn main
    push {r4, lr}
    mov r0, sp
    sub r0, r0, #1024
    ldr r1, =co
    str r1, [r0, #-4]!
    ldr r2, =other
    str r0, [r2]
    bl switch
m1: nop
    bl f2
m3: mov r0, #42
    pop {r4, pc}
    .ltorg
fn f2
    push {r5, lr}
    bl switch
m2: pop {r5, pc}
fn co
    bl c1
in_co: nop
    bl switch
    udf #0
fn c1
    push {r5, lr}
    bl switch
in_c1: pop {r5, pc}
fn switch
    push {lr}
    ldr r2, =other
    ldr r0, [r2]
    mov r1, sp
    str r1, [r2]
    mov sp, r0
    pop {pc}
    .ltorg
.bss
.balign 16
other: .space 8
