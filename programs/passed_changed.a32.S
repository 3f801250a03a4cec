// summary: a tail call with a register of the caller's changed, as glibc's swapcontext goes to setcontext on 32-bit ARM
// exit: 33
// traits: OPEN_END
// untabled: work..main
// frames: landed#1 = landed, main, _start
// frames: landed#2 = landed, main, _start
// frames: main_back#2 = main, _start

.syntax unified
.arm
.cfi_sections .debug_frame

// the second time it leaves a record of something that was never called
.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    mov r0, #9
    bl main
    mov r1, #0
    ldr r2, .Lpointer
    push {r1, r2}
    mov r11, sp
    mov r7, sp
    bl main
    mov r7, #1
    svc #0
    .p2align 2
.Lpointer:
    .word .Lmain
    .cfi_endproc
    .fnend
.size _start, . - _start

// work(x) = x + 5 + 7: passes on, with r4 changed and its caller's in r12; no table
.type work, %function
work:
    mov r12, r4
    mov r4, #5
    b landed
.size work, . - work
.type landed, %function
landed:
    add r0, r0, r4
    mov r4, r12
    add r0, r0, #7
    bx lr
.size landed, . - landed

.type main, %function
main:
.Lmain:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    bl work
main_back:
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main
