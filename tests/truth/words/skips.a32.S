// frames: cleared = helper, skip, main, _start
// frames: returning = skip, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    push {r4, lr}
    bl skip
    .word 5
    mov r0, #42
    pop {r4, pc}
fn skip           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    add lr, lr, #4
changed:          // PROLOGUE FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED UNKEPT
    str lr, [sp, #-8]!
saved:            // FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED
    bl helper
back:             // FRAMELESS UNLINKED LINK_STALE
    ldr lr, [sp], #8
returning:        // EPILOGUE FRAMELESS UNLINKED LINK_STALE RETURN_CHANGED UNKEPT
    bx lr
fn helper         // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    mov r12, lr
    mov lr, #0
cleared:          // FRAMELESS UNLINKED LINK_STALE UNKEPT
    bx r12
