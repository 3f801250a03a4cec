// summary: a push only makes room, and what it pushes happens to be an address of code
// frames: f = f, main, _start
// frames: more = f, main, _start
// frames: in_g = g, f, main, _start
// frames: last = f, main, _start
// frames: in_h = h, main, _start
// frames: back = main, _start
// undecided: more in_g last
fn main
    sub rsp, 8
    lea rcx, [rip + behind]  // as `syscall` leaves it
behind:
    call f
back:
    add rsp, 8
    ret
fn f
    push rbx
    push rcx
    xor ebx, ebx
    jz more
    ud2
more:
    call g
last:
    pop rdx
    pop rbx
    jmp h
fn g
    nop
in_g:
    ret
fn h
    mov eax, 42
in_h:
    ret
