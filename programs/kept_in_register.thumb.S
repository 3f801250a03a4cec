// summary: a function that keeps its return address in a register, and calls: a search of the stack finds others, or none
// exit: 27
// untabled: keeper..helper
// frames: helper#1 = helper, keeper, middle, main, _start
// frames: kept#1 = keeper, middle, main, _start
// frames: kept#2 = keeper, roomy, main, _start
// frames: kept#3 = keeper, main, _start

.syntax unified
.thumb
.cfi_sections .debug_frame

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
    bl main
    movs r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

// the third time there is no return address on the stack for 36 KiB
.type main, %function
.thumb_func
main:
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
    movs r0, #1
    ldr r1, .Lmiddle_pointer
    blx r1
    ldr r1, .Lleave_pointer
    blx r1
    bl saver
    bl roomy
    movs r2, #0x90
    lsls r2, r2, #8
    mov r3, sp
    subs r3, r3, r2
    mov sp, r3
    bl keeper
    mov sp, r7
    pop {r7, pc}
    .p2align 2
.Lmiddle_pointer:
    .word .Lmiddle + 1  // the Thumb bit of a code pointer
.Lleave_pointer:
    .word .Lleave + 1  // the Thumb bit of a code pointer
    .cfi_endproc
    .fnend
.size main, . - main

// called through a pointer: middle(x) = keeper(x)
.type middle, %function
.thumb_func
middle:
.Lmiddle:
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
    bl keeper
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size middle, . - middle

// leave(x) = x + 2, and two return addresses below SP, behind calls through pointers
.type leave, %function
.thumb_func
leave:
.Lleave:
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
    ldr r1, .Lstore_pointer
    blx r1
    pop {r7, pc}
    .p2align 2
.Lstore_pointer:
    .word .Lstore + 1
    .cfi_endproc
    .fnend
.size leave, . - leave

// store(x) = x + 2
.type store, %function
.thumb_func
store:
.Lstore:
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
    adds r0, r0, #2
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size store, . - store

// roomy(x) = keeper(x): its locals, which it never writes, are where `leave` was
.type roomy, %function
.thumb_func
roomy:
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
    sub sp, #0x28
    bl keeper
    mov sp, r7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size roomy, . - roomy

// keeper(x) = x + 8: in a register that is its caller's
.type keeper, %function
.thumb_func
keeper:
    push {r4, r5}
    mov r4, lr
    bl helper
kept:
    adds r0, r0, #1
    mov lr, r4
    pop {r4, r5}
    bx lr
.size keeper, . - keeper
// saver(x) = x: in another register, when it has given back what it saved
.type saver, %function
.thumb_func
saver:
    push {r4, r7}
    mov r4, lr
    movs r2, #0
    mov r7, r2
    mov r12, r4
    mov lr, r2
    pop {r4, r7}
    mov lr, r12
    bx lr
.size saver, . - saver
// helper(x) = x + 7
.type helper, %function
.thumb_func
helper:
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
    adds r0, r0, #7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size helper, . - helper
