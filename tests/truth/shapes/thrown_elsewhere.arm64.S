// summary: a function throws, and what looks for the pad does so on a stack of its own, where it has no caller
// frames: f = f, main, _start
// frames: in_other = other, main, _start
// frames: pad = main, _start
// undecided: in_other
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    adr x10, pad
    bl f
    udf #0
pad:
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn f
    adrp x9, stack
    add x9, x9, :lo12:stack
    mov sp, x9
    b other
    udf #0
fn other
    nop
in_other:
    mov sp, x29
    br x10
.bss
.p2align 4
.space 64
stack: .space 16
