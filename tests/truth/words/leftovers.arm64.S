// frames: leaf#1 = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    bl first
back_in_main:     // FRAMELESS UNLINKED LINK_STALE
    bl roomy
    adr x0, leaf
    str x0, [sp, #-16]!
pointer_stored:   // FRAMELESS UNLINKED LINK_STALE
    add sp, sp, #16
pointer_gone:     // FRAMELESS UNLINKED LINK_STALE
    bl hop
    ldr x30, [sp], #16
    ret
fn first          // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    bl leaf
    ldr x30, [sp], #16
    ret
fn roomy          // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    sub sp, sp, #0x40
roomy_body:       // FRAMELESS UNLINKED LINK_LIVE UNKEPT LEFTOVER
    nop
    add sp, sp, #0x40
roomy_end:        // EPILOGUE FRAMELESS UNLINKED LINK_LIVE UNKEPT
    ret
fn hop            // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    b leaf
fn leaf           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED LINK_LIVE UNKEPT TAIL_CALLED
    mov x0, #42
leaf_return:      // FRAMELESS UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED LINK_LIVE UNKEPT TAIL_CALLED
    ret
