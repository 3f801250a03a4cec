// summary: a stack less than 4 KiB below, left and gone on with: who was gone goes on
// frames: co = co
// frames: in_c1 = c1, co
// frames: in_co = co
// frames: m1 = main, _start
// frames: m2 = f2, main, _start
// frames: m3 = main, _start
// undecided: co in_c1 in_co
fn main
    push rbx
    lea rcx, [rsp - 1024]
    lea rdx, [rip + co]
    mov [rcx], rdx
    mov [rip + other], rcx
    call switch
m1: nop
    call f2
m3: mov eax, 42
    pop rbx
    ret
fn f2
    push r12
    call switch
m2: pop r12
    ret
fn co
    call c1
in_co: nop
    call switch
    ud2
fn c1
    sub rsp, 8
    call switch
in_c1: add rsp, 8
    ret
fn switch
    xchg rsp, [rip + other]
    ret
.bss
.balign 16
other: .space 8
