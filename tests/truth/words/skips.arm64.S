// frames: cleared = helper, skip, main, _start
// frames: returning = skip, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    stp x29, x30, [sp, #-16]!
    bl skip
    .word 5
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn skip           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    add x30, x30, #4
changed:          // PROLOGUE FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED UNKEPT
    str x30, [sp, #-16]!
saved:            // FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED
    bl helper
back:             // FRAMELESS UNLINKED LINK_STALE
    ldr x30, [sp], #16
returning:        // EPILOGUE FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED UNKEPT
    ret
fn helper         // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    mov x9, x30
    mov x30, #0
cleared:          // FRAMELESS UNLINKED LINK_STALE UNKEPT
    br x9
