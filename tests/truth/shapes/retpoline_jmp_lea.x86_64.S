// summary: a jump by a return, whose call's word is replaced by another push
// frames: in_f = f, main, _start
// frames: m1 = main, _start
fn main
    push rbx
    call g
m1: mov eax, 42
    pop rbx
    ret
fn g
    lea rax, [rip + f]
    call set
cap: pause
    jmp cap
set: lea rsp, [rsp + 8]
    push rax
    ret
    .space 300, 0x90
fn f
    push rbx
in_f: pop rbx
    ret
