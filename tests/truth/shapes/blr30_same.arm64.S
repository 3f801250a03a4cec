// summary: coroutines on one stack: a call to the own return address hands over the next one
// frames: m1 = main, _start
// frames: co = co, main, _start
// frames: c1 = co, main, _start
// undecided: m1 c1
fn main
    str x30, [sp, #-16]!
    mov x19, #3
    adr x30, co
again:
    mov x9, x30
    blr x9
m1: subs x19, x19, #1
    b.ne again
    mov x0, #42
    ldr x30, [sp], #16
    ret
fn co
    nop
next:
    mov x10, x30
    blr x10
c1: b next
