// summary: a frame of 16 KiB, on a stack below which another one lies that was left
// frames: in_other = other, gone
// frames: back = main, _start
// frames: turn = big, work, gone
// frames: in_big = big, work, gone
fn main
    mov rbx, rsp
    lea rdx, [rip + back]
    lea rax, [rip + gone + 1]
    lea rsi, [rip + other]
    lea rcx, [rip + low]
    mov rsp, rcx
    mov [rsp], rax
    jmp rsi
    ud2
back:
    lea rsi, [rip + work]
    lea rcx, [rip + high]
    mov rsp, rcx
    mov [rsp], rax
    jmp rsi
fn gone
    nop
    ud2
fn other
    nop
in_other:
    mov rsp, rbx
    jmp rdx
fn work
    sub rsp, 8
    call big
    mov edi, 42
    mov eax, 60
    syscall
fn big
    sub rsp, 0x4000
    mov ecx, 3
turn:
    dec ecx
    jnz turn
in_big:
    add rsp, 0x4000
    ret
.bss
.p2align 4
.space 64
low: .space 0x6000
high: .space 16
