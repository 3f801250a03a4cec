// summary: a generator whose stack is an array in the frame of who resumes it, and that is resumed from calls further in
// frames: gen = gen
// frames: inner = inner, gen
// frames: i1 = inner, gen
// frames: g1 = gen
// frames: m1 = main, _start
fn main
    push rbx
    push r12
    sub rsp, 1032
    mov ebx, 3
    lea rdi, [rsp + 512]
    lea rax, [rip + gen]
    sub rdi, 16
    mov [rdi + 8], rax
    mov r12, rdi
more: mov rdi, r12
    call resume
m1: mov r12, rax
    dec ebx
    jnz more
    add rsp, 1032
    mov eax, 42
    pop r12
    pop rbx
    ret
fn resume
    push rbp
    mov rax, rsp
    mov rsp, rdi
    pop rbp
    ret
fn yield
    push rbp
    mov rcx, rsp
    mov rsp, rax
    mov rax, rcx
    pop rbp
    ret
fn gen
    nop
g0: call inner
g1: jmp g0
fn inner
    push rbp
    call yield
i1: pop rbp
    ret
