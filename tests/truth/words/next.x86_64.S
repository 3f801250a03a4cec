// frames: target_body = target, main, _start

fn main           // FRAMELESS FIRST UNLINKED
    call outer
    ret
fn outer          // PROLOGUE FIRST UNLINKED
    push rbp
    mov rbp, rsp
outer_body:       // LINKED
    pop rbp
outer_jump:       // EPILOGUE UNLINKED
    jmp target
fn target         // PROLOGUE UNLINKED TAIL_CALLED
    nop
target_push:      // PROLOGUE UNLINKED TAIL_CALLED
    push rbp
target_move:      // PROLOGUE UNLINKED TAIL_CALLED
    mov rbp, rsp
target_body:      // LINKED TAIL_CALLED
    mov eax, 42
    pop rbp
target_return:    // EPILOGUE UNLINKED TAIL_CALLED
    ret
