// summary: a call instruction was a jump, and where it led to catches what a callee's callee throws
// frames: far = main, _start
// frames: middle = middle, main, _start
// frames: pad = main, _start
fn main
    push {r4, lr}
    bl far
    udf #0
far:
    sub sp, sp, #8
    mov r4, sp
    bl middle
    udf #0
pad:
    mov r0, #42
    add sp, sp, #8
    pop {r4, pc}
fn middle
    push {r5, lr}
    bl thrower
    udf #0
fn thrower
    adr r1, pad
    mov sp, r4
switched:
    nop
    bx r1
