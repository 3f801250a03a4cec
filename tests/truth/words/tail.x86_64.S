// frames: main = main, _start
// frames: second_body = second, _start

fn main           // PROLOGUE FIRST UNLINKED
    push rbp
    mov rbp, rsp
    nop
    nop
    pop rbp
main_out:         // EPILOGUE UNLINKED
    nop
main_jump:        // EPILOGUE UNLINKED
    jmp second
    ud2
fn second         // PROLOGUE UNLINKED TAIL_CALLED
    push rbp
second_pushed:    // PROLOGUE UNLINKED TAIL_CALLED
    mov rbp, rsp
    sub rsp, 64
second_body:      // LINKED TAIL_CALLED
    mov eax, 42
    nop
    nop
    leave
second_return:    // EPILOGUE UNLINKED TAIL_CALLED
    ret
