// summary: the bottom of a stack goes back itself, as inline code does: nobody or its maker called it
// frames: g0 = gen
// frames: leaf = leaf, gen
// frames: g1 = gen
// frames: m1 = main, _start
// undecided: g0 leaf g1
fn main
    push rbx
    mov ebx, 3
    lea rax, [rip + gen]
    mov [rip + s1 - 8], rax
    lea rax, [rip + s1 - 8]
    mov [rip + other], rax
more: call resume
m1: dec ebx
    jnz more
    mov eax, 42
    pop rbx
    ret
fn resume
    xchg rsp, [rip + other]
    ret
    nop
fn gen
    nop
g0: call leaf
    lea rcx, [rip + g1]
    push rcx
    xchg rsp, [rip + other]
    ret
    nop
g1: jmp g0
fn leaf
    ret
.bss
.p2align 4
other: .space 8
    .space 8192
s1: .space 64
