// frames: roomy_body = roomy, step, step, main, _start

fn main           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    adr x2, step
    bl step
    ldr x30, [sp], #16
    ret
fn step           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    str x30, [sp, #-16]!
    mov x3, x2
    adr x2, roomy
    blr x3
    ldr x30, [sp], #16
    ret
fn roomy          // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    sub sp, sp, #0x40
roomy_body:       // FRAMELESS UNLINKED LINK_LIVE UNKEPT
    mov x0, #42
    add sp, sp, #0x40
    ret
