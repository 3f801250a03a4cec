// frames: leaf#1 = leaf, first, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    push {r4, lr}
    bl first
back_in_main:     // FRAMELESS UNLINKED SECOND_ISA LINK_STALE
    bl roomy
    adr r0, leaf
    push {r0, r1}
pointer_stored:   // FRAMELESS UNLINKED SECOND_ISA LINK_STALE
    add sp, sp, #8
pointer_gone:     // FRAMELESS UNLINKED SECOND_ISA LINK_STALE
    bl hop
    pop {r4, pc}
fn first          // PROLOGUE FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    push {r4, lr}
    bl leaf
    pop {r4, lr}
    bx lr
fn roomy          // PROLOGUE FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    sub sp, sp, #0x40
roomy_body:       // FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT LEFTOVER
    nop
    add sp, sp, #0x40
roomy_end:        // EPILOGUE FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    bx lr
fn hop            // FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    b leaf
fn leaf           // FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT TAIL_CALLED
    mov r0, #42
leaf_return:      // FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT TAIL_CALLED
    bx lr
