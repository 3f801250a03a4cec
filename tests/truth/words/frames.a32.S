// frames: bare_body = bare, main, _start

fn main           // PROLOGUE FIRST UNLINKED LINK_LIVE UNKEPT
    push {r11, lr}
main_pushed:      // PROLOGUE UNLINKED LINK_LIVE
    mov r11, sp
main_body:        // LINKED LINK_LIVE
    bl leaf
    bl bare
    bl reuser
    mov r1, #2
main_last:        // LINKED LINK_STALE
    pop {r11, lr}
main_return:      // EPILOGUE UNLINKED LINK_LIVE UNKEPT
    bx lr
fn leaf           // FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT | FRAMELESS FIRST UNLINKED FP_REUSED LINK_LIVE UNKEPT
    mov r0, #42
leaf_return:      // FRAMELESS UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED LINK_LIVE UNKEPT | FRAMELESS UNLINKED FP_REUSED LINK_LIVE UNKEPT
    bx lr
fn bare           // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    push {r4, lr}
bare_body:        // FRAMELESS UNLINKED LINK_LIVE
    bl leaf
    pop {r4, lr}
bare_return:      // EPILOGUE FRAMELESS UNLINKED LINK_LIVE UNKEPT
    bx lr
fn reuser         // PROLOGUE FRAMELESS FIRST UNLINKED LINK_LIVE UNKEPT
    push {r11, lr}
reuser_pushed:    // FRAMELESS FRAMELESS UNLINKED LINK_LIVE
    mov r11, #7
reuser_body:      // FRAMELESS FRAMELESS UNLINKED FP_REUSED LINK_LIVE
    bl leaf
    nop
    pop {r11, pc}
