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

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #9
    bl elsewhere
main_body:
    bl system
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// elsewhere(x): runs task(x) on another stack, with a frame record that leads back
.type elsewhere, %function
elsewhere:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
elsewhere_body:
    adr x9, .Lstack_pointer
    ldr x9, [x9]
    mov sp, x9
    bl task
    mov sp, x29
elsewhere_back:
    add x0, x0, #1
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size elsewhere, . - elsewhere

// system(x): runs task(x) on another stack, as Go's runtime does: the frame pointer is cleared
.type system, %function
system:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    stp x19, x20, [sp, #0x10]
    .cfi_offset x19, -0x10
    .cfi_offset x20, -8
    mov x19, sp
    .cfi_def_cfa x19, 0x20
    adr x9, .Lstack_pointer
    ldr x9, [x9]
    mov sp, x9
    mov x29, #0
system_body:
    bl task
    mov sp, x19
    .cfi_def_cfa sp, 0x20
    ldp x19, x20, [sp, #0x10]
    .cfi_restore x19
    .cfi_restore x20
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size system, . - system

.type task, %function
task:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl helper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size task, . - task

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper

.p2align 3
.Lstack_pointer:
    .quad .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
