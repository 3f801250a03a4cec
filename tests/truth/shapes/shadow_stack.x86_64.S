// summary: return addresses are moved to another stack at once, and jumped to there
// frames: in_g = g, f, main, _start
// frames: f1 = f, main, _start
// frames: m1 = main, _start
// undecided: in_g f1
fn main
    push rbx
    lea r15, [rip + shadow]
    call f
m1: mov eax, 42
    pop rbx
    ret
fn f
    pop [r15]
    add r15, 8
    call g
f1: sub r15, 8
    jmp [r15]
fn g
    pop [r15]
    add r15, 8
in_g: nop
    sub r15, 8
    mov rax, [r15]
    jmp rax
.bss
shadow: .space 256
