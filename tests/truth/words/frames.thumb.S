// frames: bare_body = bare, main, _start

fn main           // PROLOGUE FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    push {r7, lr}
main_pushed:      // PROLOGUE UNLINKED SECOND_ISA LINK_LIVE
    mov r7, sp
main_body:        // LINKED SECOND_ISA LINK_LIVE
    bl leaf
    bl bare
    bl reuser
    mov r1, #2
main_last:        // LINKED SECOND_ISA LINK_STALE
    pop.w {r7, lr}
main_return:      // EPILOGUE UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    bx lr
fn leaf           // FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED FP_REUSED SECOND_ISA LINK_LIVE UNKEPT
    mov r0, #42
leaf_return:      // FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT | FRAMELESS UNLINKED FP_REUSED SECOND_ISA LINK_LIVE UNKEPT
    bx lr
fn bare           // PROLOGUE FRAMELESS FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    push {r4, lr}
bare_body:        // FRAMELESS UNLINKED SECOND_ISA LINK_LIVE
    bl leaf
    pop.w {r4, lr}
bare_return:      // EPILOGUE FRAMELESS UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    bx lr
fn reuser         // PROLOGUE FIRST UNLINKED SECOND_ISA LINK_LIVE UNKEPT
    push {r7, lr}
reuser_pushed:    // PROLOGUE UNLINKED SECOND_ISA LINK_LIVE
    movs r7, #7
reuser_body:      // UNLINKED FP_REUSED SECOND_ISA LINK_LIVE
    bl leaf
    nop
    pop {r7, pc}
