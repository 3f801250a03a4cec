// summary: a call instruction was a jump, and where it led to catches what a callee's callee throws
// frames: far = main, _start
// frames: middle = middle, main, _start
// frames: pad = main, _start
fn main
    stp x29, x30, [sp, #-16]!
    bl far
    udf #0
far:
    sub sp, sp, #16
    mov x19, sp
    bl middle
    udf #0
pad:
    mov x0, #42
    add sp, sp, #16
    ldp x29, x30, [sp], #16
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
