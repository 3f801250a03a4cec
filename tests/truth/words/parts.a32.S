// frames: leaf = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    push {r4, lr}
    bl first
    sub sp, sp, #0x10
    ldr r1, [sp, #0xc]
    lsr r2, r1, #16
left_there:       // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    strh r2, [sp, #0xe]
repeated:         // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    strb r1, [sp, #0xc]
repeated_again:   // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    add r1, r1, #4
    strb r1, [sp, #0xc]
changed:          // FRAMELESS UNLINKED LINK_STALE
    sub r1, r1, #4
    strb r1, [sp, #0xc]
changed_back:     // FRAMELESS UNLINKED LINK_STALE LEFTOVER
    add sp, sp, #0x10
    mov r0, #42
    pop {r4, pc}
fn first          // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    push {r4, lr}
    bl leaf
    pop {r4, pc}
fn leaf           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    bx lr
