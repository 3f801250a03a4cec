// summary: a function throws, and what looks for the pad does so on a stack of its own, where it has no caller
// frames: f = f, main, _start
// frames: in_other = other, main, _start
// frames: pad = main, _start
// undecided: in_other
fn main
    push rbp
    mov rbp, rsp
    lea rdx, [rip + pad]
    call f
    ud2
pad:
    mov eax, 42
    pop rbp
    ret
fn f
    lea rcx, [rip + stack]
    mov rsp, rcx
    jmp other
    ud2
fn other
    nop
in_other:
    mov rsp, rbp
    jmp rdx
.bss
.space 64
stack: .space 8
