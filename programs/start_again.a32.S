// summary: start code that is jumped to, as a dynamic linker jumps to a program's: nobody called it, whatever lies there
// exit: 42
// frames: main = main, _start
// frames: again = _start

.syntax unified
.arm
.cfi_sections .debug_frame

// nobody calls it; when it comes round again, the link register is that of the call before; it counts on top of the stack
.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
begin:
    mov r11, #0
    ldr r0, [sp]
    bl main
again:
    str r0, [sp]
    cmp r0, #0x2a
    bne begin
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

// main(x) = x + 21
.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset r11, -8
    .cfi_offset lr, -4
    add r0, r0, #0x15
    pop {r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main
