// summary: tail calls: direct after an epilogue, then through a register; both callers vanish from the stack
// exit: 46
// trap: 21 llvm/llvm-project#52758
// frames: outer_body = outer, main, _start
// frames: helper#1 = helper, outer, main, _start
// frames: inner = inner, main, _start
// frames: target = target, main, _start
// frames: target_body = target, main, _start
// frames: helper#2 = helper, target, main, _start
// frame-record: r11-gcc

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
    add r11, sp, #4
    .setfp r11, sp, #4
    .cfi_def_cfa r11, 4
    mov r0, #0xa
    bl outer
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// helper(x) = x + 1
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    add r0, r0, #1
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper

// Callees first: a jump to the very next address would have no effect that can be watched.

// target(x) = 2 * helper(x)
.type target, %function
target:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    add r11, sp, #4
    .setfp r11, sp, #4
    .cfi_def_cfa r11, 4
target_body:
    bl helper
    add r0, r0, r0
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size target, . - target

// inner(x): target(2 * x) as a tail call through a register; it never has a frame
.type inner, %function
inner:
    .fnstart
    .cfi_startproc
    add r0, r0, r0
    adr r3, target
    bx r3
    .cfi_endproc
    .fnend
.size inner, . - inner

// outer(x): inner(helper(x)) as a tail call, after its frame is gone
.type outer, %function
outer:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    add r11, sp, #4
    .setfp r11, sp, #4
    .cfi_def_cfa r11, 4
outer_body:
    bl helper
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    b inner
    .cfi_endproc
    .fnend
.size outer, . - outer
