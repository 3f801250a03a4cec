// frames: leaf = leaf, target, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED
    push rbx
    call hop
    pop rbx
    ret
fn hop            // FRAMELESS FIRST UNLINKED
    jmp target
fn target         // FRAMELESS UNLINKED TAIL_CALLED
    call leaf
    ret
fn leaf           // FRAMELESS FIRST UNLINKED TAIL_CALLED
    mov eax, 42
leaf_return:      // FRAMELESS UNLINKED TAIL_CALLED
    ret
