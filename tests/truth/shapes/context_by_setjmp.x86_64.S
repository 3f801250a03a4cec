// summary: a function on another stack that is left and gone on with by longjmp
// frames: c0 = co, main, _start
// frames: c1 = co, main, _start
// frames: leaf = leaf, co, main, _start
// frames: m1 = main, _start
// frames: m2 = main, _start
// frames: out = main, _start
fn main
    push rbx
    push rbp
    mov ebx, 2
    lea rdi, [rip + jm]
    call set
m0: test eax, eax
    jnz m1
    lea rsp, [rip + s1]
    call co
    ud2
m1: dec ebx
    jz out
    lea rdi, [rip + jm]
    call set
m2: test eax, eax
    jnz m1
    lea rdi, [rip + jc]
    call jump
    ud2
out: mov eax, 42
    pop rbp
    pop rbx
    ret
fn set
    mov rax, [rsp]
    mov [rdi], rax
    lea rax, [rsp + 8]
    mov [rdi + 8], rax
    xor eax, eax
    ret
fn jump
    mov eax, 1
    mov rdx, [rdi]
    mov rsp, [rdi + 8]
    jmp rdx
fn co
    push rbp
c0: lea rdi, [rip + jc]
    call set
c1: test eax, eax
    jnz c2
    lea rdi, [rip + jm]
    call jump
    ud2
c2: call leaf
    jmp c0
fn leaf
    ret
.bss
.p2align 4
jm: .space 16
jc: .space 16
    .space 8192
s1: .space 64
