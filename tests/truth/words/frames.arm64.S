// frames: bare_body = bare, main, _start

fn main           // PROLOGUE FIRST UNLINKED LINK_LIVE UNKEPT
    stp x29, x30, [sp, #-16]!
main_pushed:      // PROLOGUE UNLINKED LINK_LIVE
    mov x29, sp
main_body:        // LINKED LINK_LIVE
    bl leaf
    bl bare
    bl reuser
    mov x1, #2
main_last:        // LINKED LINK_STALE
    ldp x29, x30, [sp], #16
main_return:      // EPILOGUE UNLINKED LINK_LIVE UNKEPT
    ret
fn leaf           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED FP_REUSED LINK_LIVE UNKEPT
    mov x0, #42
leaf_return:      // FRAMELESS UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED FP_REUSED LINK_LIVE UNKEPT
    ret
fn bare           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
bare_body:        // FRAMELESS UNLINKED LINK_LIVE
    bl leaf
    ldr x30, [sp], #16
bare_return:      // EPILOGUE FRAMELESS UNLINKED LINK_LIVE UNKEPT
    ret
fn reuser         // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    stp x29, x30, [sp, #-16]!
reuser_pushed:    // FRAMELESS FRAMELESS UNLINKED LINK_LIVE
    mov x29, #7
reuser_body:      // FRAMELESS FRAMELESS UNLINKED FP_REUSED LINK_LIVE
    bl leaf
    nop
    ldp x29, x30, [sp], #16
    ret
