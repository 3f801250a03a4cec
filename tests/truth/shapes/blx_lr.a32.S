// summary: coroutines on one stack: a call to the own return address hands over the next one
// frames: m1 = main, _start
// frames: co = co, main, _start
// frames: c1 = co, main, _start
// undecided: m1 c1
fn main
    push {r4, lr}
    mov r4, #3
    ldr lr, =co
again:
    blx lr
m1: subs r4, r4, #1
    bne again
    mov r0, #42
    pop {r4, pc}
    .ltorg
fn co
    nop
next:
    blx lr
c1: b next
