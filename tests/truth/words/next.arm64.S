// frames: target_body = target, main, _start

fn main           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    mov x19, x30
    bl outer
    mov x30, x19
    ret
fn outer          // PROLOGUE FIRST UNLINKED LINK_LIVE UNKEPT
    stp x29, x30, [sp, #-16]!
    mov x29, sp
outer_body:       // LINKED LINK_LIVE
    ldp x29, x30, [sp], #16
outer_jump:       // EPILOGUE UNLINKED LINK_LIVE UNKEPT
    b target
fn target         // PROLOGUE UNLINKED LINK_LIVE UNKEPT TAIL_CALLED
    nop
target_push:      // PROLOGUE UNLINKED LINK_LIVE UNKEPT TAIL_CALLED
    stp x29, x30, [sp, #-16]!
target_move:      // PROLOGUE UNLINKED LINK_LIVE TAIL_CALLED
    mov x29, sp
target_body:      // LINKED LINK_LIVE TAIL_CALLED
    mov x0, #42
    ldp x29, x30, [sp], #16
target_return:    // EPILOGUE UNLINKED LINK_LIVE UNKEPT TAIL_CALLED
    ret
