// summary: start code that is jumped to, as a dynamic linker jumps to a program's: nobody called it, whatever lies there
// exit: 42
// frames: main = main, _start
// frames: again = _start

.syntax unified
.thumb
.cfi_sections .debug_frame

// nobody calls it; when it comes round again, the link register is that of the call before; it counts on top of the stack
.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
begin:
    movs r7, #0
    ldr r0, [sp]
    bl main
again:
    str r0, [sp]
    cmp r0, #0x2a
    bne.n begin
    movs r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

// main(x) = x + 21
.type main, %function
.thumb_func
main:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset r7, -8
    .cfi_offset lr, -4
    adds r0, r0, #0x15
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main
