// summary: a function called on another stack, as split stacks and Go's runtime do: with a record, and without
// exit: 24
// trap: 25 golang/go#63630, golang/go#17381, open-telemetry/opentelemetry-ebpf-profiler#1275, parca-dev/parca-agent#3123
// trap: 36 https://gcc.gnu.org/wiki/SplitStacks
// traits: OTHER_STACK, INEXPRESSIBLE
// frames: elsewhere_body = elsewhere, main, _start
// frames: helper#1 = helper, task, elsewhere, main, _start
// frames: elsewhere_back = elsewhere, main, _start
// frames: main_body = main, _start
// frames: system_body = system, main, _start
// frames: helper#2 = helper, task, system, main, _start

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
    movs r0, #9
    bl elsewhere
main_body:
    bl system
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// elsewhere(x): runs task(x) on another stack, with a frame record that leads back
.type elsewhere, %function
.thumb_func
elsewhere:
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
elsewhere_body:
    ldr r1, .Lstack_pointer
    mov sp, r1
    bl task
    mov sp, r7
elsewhere_back:
    adds r0, r0, #1
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size elsewhere, . - elsewhere

// system(x): runs task(x) on another stack, as Go's runtime does: the frame pointer is cleared
.type system, %function
.thumb_func
system:
    .fnstart
    .cfi_startproc
    push {r4, r7, lr}
    .save {r4, r7, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    .cfi_offset r4, -0xc
    mov r4, sp
    .setfp r4, sp
    .cfi_def_cfa r4, 0xc
    ldr r1, .Lstack_pointer
    mov sp, r1
    movs r7, #0
system_body:
    bl task
    mov sp, r4
    .cfi_def_cfa sp, 0xc
    pop.w {r4, r7, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size system, . - system

.type task, %function
.thumb_func
task:
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
    bl helper
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size task, . - task

// helper(x) = x + 7
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper

.p2align 2
.Lstack_pointer:
    .word .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
