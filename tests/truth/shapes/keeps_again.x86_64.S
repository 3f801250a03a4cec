// summary: musl's sigsetjmp keeps its return address and calls setjmp; called again for no signals, it does not
// frames: back#1 = keep, main, _start
// frames: plain = keep, main, _start
// frames: inner_body = inner, middle, main, _start
// frames: back#2 = keep, main, _start
// frames: finish#2 = finish, main, _start
// frames: landed = main, _start
fn main
    push rbx
    sub rsp, 32
    mov rbx, rsp
    mov esi, 1
again:
    call keep
    test eax, eax
    jnz landed
    dec esi
    jns again
    call middle
    ud2
landed:
    add rsp, 32
    pop rbx
    mov eax, 42
    ret
fn keep
    test esi, esi
    jz plain
    pop qword ptr [rbx + 16]
    call mark
back:
    push qword ptr [rbx + 16]
    jmp finish
plain:
    xor eax, eax
    ret
fn finish
    nop
    ret
fn mark
    lea rax, [rsp + 8]
    mov [rbx], rax
    mov rax, [rsp]
    mov [rbx + 8], rax
    xor eax, eax
    ret
fn middle
    sub rsp, 24
    call inner
    ud2
fn inner
    sub rsp, 40
    mov rdx, [rbx + 8]
    mov eax, 1
inner_body:
    mov rsp, [rbx]
switched:
    jmp rdx
