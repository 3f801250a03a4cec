// frames: leaf#1 = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED
    push rbx
    call first
back_in_main:     // FRAMELESS UNLINKED
    call roomy
    lea rax, [rip + leaf]
    push rax
pointer_stored:   // FRAMELESS UNLINKED
    pop rax
pointer_gone:     // FRAMELESS UNLINKED
    call hop
    pop rbx
    ret
fn first          // FRAMELESS FIRST UNLINKED
    call leaf
    ret
fn roomy          // PROLOGUE FRAMELESS FIRST UNLINKED
    sub rsp, 0x40
roomy_body:       // FRAMELESS UNLINKED LEFTOVER
    nop
    add rsp, 0x40
roomy_end:        // EPILOGUE FRAMELESS UNLINKED
    ret
fn hop            // FRAMELESS FIRST UNLINKED
    jmp leaf
fn leaf           // FRAMELESS FIRST UNLINKED | FRAMELESS UNLINKED TAIL_CALLED
    mov eax, 42
leaf_return:      // FRAMELESS UNLINKED | FRAMELESS UNLINKED TAIL_CALLED
    ret
