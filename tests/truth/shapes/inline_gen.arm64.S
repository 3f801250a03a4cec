// summary: the bottom of a stack goes back itself, as inline code does: nobody or its maker called it
// frames: g0 = gen
// frames: leaf = leaf, gen
// frames: g1 = gen
// frames: m1 = main, _start
// undecided: g0 leaf g1
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #3
    adrp x0, s1
    add x0, x0, :lo12:s1
    adr x1, gen
    stp x0, x1, [x0]
more: adrp x0, s1
    add x0, x0, :lo12:s1
    bl resume
m1: subs x19, x19, #1
    b.ne more
    mov x0, #42
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn resume
    ldp x2, x3, [x0]
    mov x4, sp
    stp x4, x30, [x0]
    mov sp, x2
    br x3
    nop
fn gen
    nop
g0: bl leaf
    adrp x0, s1
    add x0, x0, :lo12:s1
    ldp x2, x3, [x0]
    mov x4, sp
    adr x5, g1
    stp x4, x5, [x0]
    mov sp, x2
    br x3
    nop
g1: b g0
fn leaf
    ret
.bss
.p2align 4
    .space 8192
s1: .space 64
