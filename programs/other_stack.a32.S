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
    mov r0, #9
    bl elsewhere
main_body:
    bl system
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// elsewhere(x): runs task(x) on another stack, with a frame record that leads back
.type elsewhere, %function
elsewhere:
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
elsewhere_body:
    ldr r1, .Lstack_pointer
    mov sp, r1
    bl task
    mov sp, r11
elsewhere_back:
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size elsewhere, . - elsewhere

// system(x): runs task(x) on another stack, as Go's runtime does: the frame pointer is cleared
.type system, %function
system:
    .fnstart
    .cfi_startproc
    push {r4, r11, lr}
    .save {r4, r11, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r4, -0xc
    mov r4, sp
    .setfp r4, sp
    .cfi_def_cfa r4, 0xc
    ldr r1, .Lstack_pointer
    mov sp, r1
    mov r11, #0
system_body:
    bl task
    mov sp, r4
    .cfi_def_cfa sp, 0xc
    pop {r4, r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size system, . - system

.type task, %function
task:
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
    bl helper
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size task, . - task

// helper(x) = x + 7
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    add r0, r0, #7
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
