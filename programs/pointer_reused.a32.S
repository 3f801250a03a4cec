// summary: the frame-pointer register as an ordinary one: a pointer to data, to a frame further out, to a local
// exit: 60
// frames: main_body = main, _start
// frames: over_data_body = over_data, middle, main, _start
// frames: helper = helper, over_data, middle, main, _start
// frames: over_data_zero = over_data, middle, main, _start
// frames: over_frames_body = over_frames, middle, main, _start
// frames: over_local_body = over_local, middle, main, _start
// frames: over_local_zero = over_local, middle, main, _start

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
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    sub sp, sp, #8
main_body:
    mov r0, #7
    str r0, [sp, #4]
    bl middle
    mov sp, r11
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// middle() = over_data(four numbers) + over_frames() + over_local()
.type middle, %function
middle:
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
    sub sp, sp, #0x18
    mov r0, #3
    str r0, [sp, #8]
    mov r0, #0x10
    str r0, [sp, #0xc]
    mov r0, #5
    str r0, [sp, #0x10]
    mov r0, #0
    str r0, [sp, #0x14]
    add r0, sp, #8
    bl over_data
    str r0, [sp]
    bl over_frames
    str r0, [sp, #4]
    bl over_local
    ldr r1, [sp]
    add r0, r0, r1
    ldr r1, [sp, #4]
    add r0, r0, r1
    mov sp, r11
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size middle, . - middle

// over_data(pairs) = helper(3 + 0x10) + 5 + 0: r11 goes over middle's pairs of numbers, which lie where records could
.type over_data, %function
over_data:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, r0
over_data_body:
    ldr r0, [r11]
    ldr r1, [r11, #4]
    add r0, r0, r1
    bl helper
    add r11, r11, #8
over_data_zero:
    ldr r1, [r11]
    add r0, r0, r1
    ldr r1, [r11, #4]
    add r0, r0, r1
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size over_data, . - over_data

// helper(x) = x + 1
.type helper, %function
helper:
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
    add r0, r0, #1
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size helper, . - helper

// over_frames() = main's variable, as a nested function reads it: r11 leads to main's record, past middle's
.type over_frames, %function
over_frames:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    ldr r11, [r11]
over_frames_body:
    ldr r0, [r11, #-4]
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size over_frames, . - over_frames

// over_local() = 4 + 0x18 + 0: r11 points to a local of two words
.type over_local, %function
over_local:
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
    mov r0, #4
    str r0, [sp, #4]
    mov r0, #0x18
    str r0, [sp, #8]
    add r11, sp, #4
over_local_body:
    ldr r0, [r11]
    ldr r1, [r11, #4]
    add r0, r0, r1
    mov r1, #0
    str r1, [r11, #4]
over_local_zero:
    ldr r1, [r11, #4]
    add r0, r0, r1
    add sp, sp, #0x10
    .cfi_def_cfa_offset 8
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size over_local, . - over_local
