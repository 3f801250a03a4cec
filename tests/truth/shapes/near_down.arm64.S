// summary: a stack less than 4 KiB below, left and gone on with: who was gone goes on
// frames: co = co
// frames: in_c1 = c1, co
// frames: in_co = co
// frames: m1 = main, _start
// frames: m2 = f2, main, _start
// frames: m3 = main, _start
// undecided: co in_c1 in_co
fn main
    stp x29, x30, [sp, #-16]!
    sub x9, sp, #1024
    adr x10, co
    str x10, [x9, #-16]!
    adrp x11, other
    add x11, x11, :lo12:other
    str x9, [x11]
    bl switch
m1: nop
    bl f2
m3: mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn f2
    str x30, [sp, #-16]!
    bl switch
m2: ldr x30, [sp], #16
    ret
fn co
    bl c1
in_co: nop
    bl switch
    udf #0
fn c1
    str x30, [sp, #-16]!
    bl switch
in_c1: ldr x30, [sp], #16
    ret
fn switch
    str x30, [sp, #-16]!
    adrp x11, other
    add x11, x11, :lo12:other
    ldr x10, [x11]
    mov x9, sp
    str x9, [x11]
    mov sp, x10
    ldr x30, [sp], #16
    ret
.bss
.balign 16
other: .space 8
