// frames: bare_body = bare, main, _start

fn main           // PROLOGUE FIRST UNLINKED
    push rbp
main_pushed:      // PROLOGUE UNLINKED
    mov rbp, rsp
main_body:        // LINKED
    call leaf
    call bare
    call reuser
    mov ecx, 2
main_last:        // LINKED
    pop rbp
main_return:      // EPILOGUE UNLINKED
    ret
fn leaf           // FRAMELESS FIRST UNLINKED | FRAMELESS FIRST UNLINKED | FRAMELESS FIRST UNLINKED FP_REUSED
    mov eax, 42
leaf_return:      // FRAMELESS UNLINKED | FRAMELESS UNLINKED | FRAMELESS UNLINKED FP_REUSED
    ret
fn bare           // PROLOGUE FRAMELESS FIRST UNLINKED
    push rbx
bare_body:        // FRAMELESS UNLINKED
    call leaf
    pop rbx
bare_return:      // EPILOGUE FRAMELESS UNLINKED
    ret
fn reuser         // PROLOGUE FRAMELESS FIRST UNLINKED
    push rbp
reuser_pushed:    // FRAMELESS FRAMELESS UNLINKED
    mov ebp, 7
reuser_body:      // FRAMELESS FRAMELESS UNLINKED FP_REUSED
    call leaf
    nop
    pop rbp
    ret
