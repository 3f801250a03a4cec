// frames: leaf = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED
    push rbx
    call first
    sub rsp, 0x40
    mov qword ptr [rsp + 0x38], 0
left_there:       // FRAMELESS UNLINKED LEFTOVER
    mov dword ptr [rsp + 0x34], 0
repeated:         // FRAMELESS UNLINKED LEFTOVER
    mov word ptr [rsp + 0x36], 0
repeated_again:   // FRAMELESS UNLINKED LEFTOVER
    mov byte ptr [rsp + 0x37], 1
changed:          // FRAMELESS UNLINKED
    mov byte ptr [rsp + 0x37], 0
changed_back:     // FRAMELESS UNLINKED LEFTOVER
    add rsp, 0x40
    pop rbx
    mov eax, 42
    ret
fn first          // FRAMELESS FIRST UNLINKED
    call leaf
    ret
fn leaf           // FRAMELESS FIRST UNLINKED
    ret
