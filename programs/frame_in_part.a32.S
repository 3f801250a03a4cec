// summary: functions that make a frame, or give it back, with other instructions between: EHABI has one row for each
// exit: 80
// frames: early_behind#1 = early, main, _start
// frames: early_behind#2 = early, numbered, main, _start
// frames: between = behind, main, _start
// frames: numbered_behind = numbered, main, _start

// GCC's schedules put other instructions between those that make a frame, and between those that give it back. The rows of
// .debug_frame follow them; EHABI has one row for the whole function, which is true at its calls.

.syntax unified
.arm
.cfi_sections .debug_frame

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
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r4, r11, lr}
    .save {r4, r11, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r4, -0xc
    add r11, sp, #4
    .setfp r11, sp, #4
    .cfi_def_cfa r11, 8
    movs r0, #3
    bl early
    mov r4, r0
    movs r0, #4
    bl first
    adds r0, r0, r4
    bl numbered
    bl helper
    pop {r4, r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// early(x) = helper(x) + 1 + 2 + 3 + 4
.type early, %function
early:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    sub sp, sp, #0x10
    .pad #0x10
    .cfi_def_cfa_offset 0x18
    str r0, [sp]
    bl helper
    add sp, sp, #0x10
    .cfi_def_cfa_offset 8
early_behind:
    adds r4, r0, #1
    adds r4, r4, #2
    adds r4, r4, #3
    adds r4, r4, #4
    mov r0, r4
    pop {r4, pc}
    .cfi_endproc
    .fnend
.size early, . - early

// numbered(x) = early(x) + 1 + 2 + 3 + 4, with a number in the frame-pointer register, and one on the stack
.type numbered, %function
numbered:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    sub sp, sp, #0x10
    .pad #0x10
    .cfi_def_cfa_offset 0x18
    str r0, [sp, #0xc]
    mov r11, #1
    bl early
    add sp, sp, #0x10
    .cfi_def_cfa_offset 8
numbered_behind:
    add r0, r0, r11
    adds r0, r0, #2
    adds r0, r0, #3
    adds r0, r0, #4
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size numbered, . - numbered

// first(x) = behind(x + 1 + 2 + 3)
.type first, %function
first:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    adds r4, r0, #1
    adds r4, r4, #2
    adds r4, r4, #3
    mov r0, r4
    pop {r4, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore lr
    .cfi_restore r4
    b behind
    .cfi_endproc
    .fnend
.size first, . - first

// behind(x) = helper(x + 5 + 4)
.type behind, %function
behind:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    adds r0, r0, #5
between:
    adds r0, r0, #4
    sub sp, sp, #0x10
    .pad #0x10
    .cfi_def_cfa_offset 0x18
    bl helper
    add sp, sp, #0x10
    .cfi_def_cfa_offset 8
    pop {r4, pc}
    .cfi_endproc
    .fnend
.size behind, . - behind

// helper(x) = x + 7, and its return address in lr
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    push {r4}
    .save {r4}
    .cfi_def_cfa_offset 4
    .cfi_offset r4, -4
    adds r4, r0, #4
    adds r4, r4, #2
    adds r4, r4, #1
    sub sp, sp, #8
    .pad #8
    .cfi_def_cfa_offset 0xc
    str r4, [sp]
    ldr r0, [sp]
    add sp, sp, #8
    .cfi_def_cfa_offset 4
    pop {r4}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
