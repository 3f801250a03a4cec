// summary: tail calls: direct after an epilogue, then through a register; both callers vanish from the stack
// exit: 46
// trap: 21 llvm/llvm-project#52758
// frames: outer_body = outer, main, _start
// frames: helper#1 = helper, outer, main, _start
// frames: inner = inner, main, _start
// frames: target = target, main, _start
// frames: target_body = target, main, _start
// frames: helper#2 = helper, target, main, _start

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
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

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
    movs r0, #0xa
    bl outer
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// helper(x) = x + 1
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #1
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper

// Callees first: a jump to the very next address would have no effect that can be watched.

// target(x) = 2 * helper(x)
.type target, %function
.thumb_func
target:
.Ltarget:
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
target_body:
    bl helper
    adds r0, r0, r0
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size target, . - target

// inner(x): target(2 * x) as a tail call through a register; it never has a frame
.type inner, %function
.thumb_func
inner:
    .fnstart
    .cfi_startproc
    adds r0, r0, r0
    ldr r3, .Ltarget_pointer
    bx r3
    .cfi_endproc
    .fnend
.size inner, . - inner
.p2align 2
.Ltarget_pointer:
    .word .Ltarget + 1  // the Thumb bit of a code pointer

// outer(x): inner(helper(x)) as a tail call, after its frame is gone
.type outer, %function
.thumb_func
outer:
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
outer_body:
    bl helper
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    b.w inner
    .cfi_endproc
    .fnend
.size outer, . - outer
