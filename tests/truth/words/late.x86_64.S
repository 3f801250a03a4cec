// frames: body = main, _start

fn main           // PROLOGUE FIRST UNLINKED
    push rbp
pushed:           // PROLOGUE UNLINKED
    nop
    nop
    nop
    nop
    mov rbp, rsp
body:             // LINKED
    mov eax, 42
    pop rbp
    ret
