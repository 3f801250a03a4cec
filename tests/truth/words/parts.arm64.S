// frames: leaf = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    bl first
    sub sp, sp, #0x20
left_there:       // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    str wzr, [sp, #0x14]
repeated:         // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    strh wzr, [sp, #0x16]
repeated_again:   // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    mov w0, #1
    strb w0, [sp, #0x17]
changed:          // FRAMELESS UNLINKED LINK_STALE
    strb wzr, [sp, #0x17]
changed_back:     // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    add sp, sp, #0x20
    ldr x30, [sp], #16
    mov x0, #42
    ret
fn first          // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    bl leaf
    ldr x30, [sp], #16
    ret
fn leaf           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    ret
