// frames: cleared = helper, skip, main, _start
// frames: returning = skip, main, _start

fn main           // FRAMELESS FIRST UNLINKED
    call skip
    .long 5
    mov eax, 42
    ret
fn skip           // PROLOGUE FRAMELESS FIRST UNLINKED
    sub rsp, 8
    add qword ptr [rsp + 8], 4
changed:          // FRAMELESS UNLINKED RETURN_CHANGED
    call helper
back:             // FRAMELESS UNLINKED RETURN_CHANGED
    add rsp, 8
returning:        // EPILOGUE FRAMELESS UNLINKED RETURN_CHANGED
    ret
fn helper         // FRAMELESS FIRST UNLINKED
    nop
cleared:          // FRAMELESS UNLINKED
    ret
