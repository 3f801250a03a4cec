// summary: a tail call with a register of the caller's changed, as glibc's swapcontext goes to setcontext on 32-bit ARM
// exit: 33
// traits: OPEN_END
// untabled: work..main
// frames: landed#1 = landed, main, _start
// frames: landed#2 = landed, main, _start
// frames: main_back#2 = main, _start

.syntax unified
.thumb
.cfi_sections .debug_frame

// the second time it leaves a record of something that was never called
.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, r7
    mov lr, r7
    movs r0, #9
    bl main
    movs r1, #0
    ldr r2, .Lpointer
    push {r1, r2}
    mov r7, sp
    mov r11, sp
    bl main
    movs r7, #1
    svc #0
    .p2align 2
.Lpointer:
    .word .Lmain + 1  // the Thumb bit of a code pointer
    .cfi_endproc
    .fnend
.size _start, . - _start

// work(x) = x + 5 + 7: passes on, with r4 changed and its caller's in r12; no table
.type work, %function
.thumb_func
work:
    mov r12, r4
    movs r4, #5
    b.w landed
.size work, . - work
.type landed, %function
.thumb_func
landed:
    adds r0, r0, r4
    mov r4, r12
    adds r0, r0, #7
    bx lr
.size landed, . - landed

.type main, %function
.thumb_func
main:
.Lmain:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    bl work
main_back:
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main
