// summary: a leaf calls what stands right behind its own call, and nobody returns
// frames: in_k = k, g, h, main, _start
// undecided: in_k
fn main
    str x30, [sp, #-16]!
    bl h
fn dead
    udf #0
fn h
    str x30, [sp, #-16]!
    bl g
fn k
    mov x0, #42
    mov x8, #93
in_k: svc #0
fn g
    nop
    bl k
    udf #0
