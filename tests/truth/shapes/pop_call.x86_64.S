// summary: the same where calls push: the own word comes off, and is called
// frames: co = co, main, _start
// frames: c1 = co, main, _start
// frames: c2 = co, main, _start
// frames: m1 = main, _start
// frames: m2 = main, _start
// frames: m3 = main, _start
// undecided: c1 c2 m1 m2 m3
fn main
    push rbx
    call co
m1: nop
    pop rax
    call rax
m2: nop
    pop rax
    call rax
m3: mov eax, 42
    pop rbx
    ret
fn co
    nop
    pop rax
    call rax
c1: nop
    pop rax
    call rax
c2: nop
    ret
