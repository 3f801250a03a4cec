// summary: a function that keeps its return address in a register, and calls: a search of the stack finds others, or none
// exit: 27
// untabled: keeper..helper
// frames: helper#1 = helper, keeper, middle, main, _start
// frames: kept#1 = keeper, middle, main, _start
// frames: kept#2 = keeper, roomy, main, _start
// frames: kept#3 = keeper, main, _start

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

// the third time there is no return address on the stack for 36 KiB
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
    mov r0, #1
    ldr r1, .Lmiddle_pointer
    blx r1
    ldr r1, .Lleave_pointer
    blx r1
    bl saver
    bl roomy
    sub sp, sp, #0x9000
    bl keeper
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .p2align 2
.Lmiddle_pointer:
    .word middle
.Lleave_pointer:
    .word leave
    .cfi_endproc
    .fnend
.size main, . - main

// called through a pointer: middle(x) = keeper(x)
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
    bl keeper
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size middle, . - middle

// leave(x) = x + 2, and two return addresses below SP, behind calls through pointers
.type leave, %function
leave:
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
    ldr r1, .Lstore_pointer
    blx r1
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .p2align 2
.Lstore_pointer:
    .word store
    .cfi_endproc
    .fnend
.size leave, . - leave

// store(x) = x + 2
.type store, %function
store:
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
    add r0, r0, #2
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size store, . - store

// roomy(x) = keeper(x): its locals, which it never writes, are where `leave` was
.type roomy, %function
roomy:
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
    sub sp, sp, #0x28
    bl keeper
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size roomy, . - roomy

// keeper(x) = x + 8: in a register that is its caller's
.type keeper, %function
keeper:
    push {r4, r5}
    mov r4, lr
    bl helper
kept:
    add r0, r0, #1
    mov lr, r4
    pop {r4, r5}
    bx lr
.size keeper, . - keeper
// saver(x) = x: in another register, when it has given back what it saved
.type saver, %function
saver:
    push {r4, r11}
    mov r4, lr
    mov r2, #0
    mov r11, r2
    mov r12, r4
    mov lr, r2
    pop {r4, r11}
    mov lr, r12
    bx lr
.size saver, . - saver
// helper(x) = x + 7
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
    add r0, r0, #7
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
