// frames: main_body = main, _start
// frames: inner_return = inner, other, main, _start

fn main           // PROLOGUE FIRST UNLINKED LINK_LIVE UNKEPT
    push {r11, lr}
    mov r11, sp
main_body:        // LINKED LINK_LIVE
    blx other
    pop {r11, pc}
.thumb
.thumb_func
fn other          // PROLOGUE FIRST UNLINKED MIXED_ISA SECOND_ISA LINK_LIVE UNKEPT
    push {r7, lr}
    mov r7, sp
other_body:       // LINKED MIXED_ISA SECOND_ISA LINK_LIVE
    movs r0, #42
    bl inner
    pop {r7, pc}
.thumb_func
fn inner          // FRAMELESS FIRST UNLINKED MIXED_ISA SECOND_ISA LINK_LIVE UNKEPT
    nop
inner_return:     // FRAMELESS UNLINKED MIXED_ISA SECOND_ISA LINK_LIVE UNKEPT
    bx lr
