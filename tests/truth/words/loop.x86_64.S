// frames: loop = main, _start

fn main           // FRAMELESS FIRST UNLINKED
    mov ecx, 3
loop:             // FRAMELESS UNLINKED | FRAMELESS UNLINKED | PROLOGUE UNLINKED
    dec ecx
    jnz loop
made:             // PROLOGUE UNLINKED
    push rbp
    mov rbp, rsp
made_body:        // LINKED
    mov eax, 42
    nop
    pop rbp
    ret
