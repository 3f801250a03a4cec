// summary: the frame-pointer register as an ordinary one: a pointer to data, to a frame further out, to a local
// exit: 60
// frames: main_body = main, _start
// frames: over_data_body = over_data, middle, main, _start
// frames: helper = helper, over_data, middle, main, _start
// frames: over_data_zero = over_data, middle, main, _start
// frames: over_frames_body = over_frames, middle, main, _start
// frames: over_local_body = over_local, middle, main, _start
// frames: over_local_zero = over_local, middle, main, _start

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
    bl main
    .cfi_endproc
.size _start, . - _start

// among main's variables is its own address, which is right behind a call instruction
.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
main_body:
    mov x0, #7
    str x0, [x29, #0x10]
    adr x0, main
    str x0, [x29, #0x18]
    bl middle
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// middle() = over_data(four numbers) + over_frames() + over_local()
.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x40]!
    .cfi_def_cfa_offset 0x40
    .cfi_offset x29, -0x40
    .cfi_offset x30, -0x38
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #3
    mov x1, #0x10
    stp x0, x1, [sp, #0x20]
    mov x0, #5
    stp x0, xzr, [sp, #0x30]
    add x0, sp, #0x20
    bl over_data
    str x0, [x29, #0x10]
    bl over_frames
    str x0, [x29, #0x18]
    bl over_local
    ldr x1, [x29, #0x10]
    add x0, x0, x1
    ldr x1, [x29, #0x18]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x40
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

// over_data(pairs) = helper(3 + 0x10) + 5 + 0: x29 goes over middle's pairs of numbers, which lie where records could
.type over_data, %function
over_data:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, x0
over_data_body:
    ldr x0, [x29]
    ldr x1, [x29, #8]
    add x0, x0, x1
    bl helper
    add x29, x29, #0x10
over_data_zero:
    ldr x1, [x29]
    add x0, x0, x1
    ldr x1, [x29, #8]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size over_data, . - over_data

// helper(x) = x + 1
.type helper, %function
helper:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    add x0, x0, #1
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size helper, . - helper

// over_frames() = main's variable, as a nested function reads it: x29 leads to main's record, past middle's
.type over_frames, %function
over_frames:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    ldr x29, [x29]
over_frames_body:
    ldr x0, [x29, #0x10]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size over_frames, . - over_frames

// over_local() = 4 + 0x18 + 0: x29 points to a local of two words
.type over_local, %function
over_local:
    .cfi_startproc
    stp x29, x30, [sp, #-0x30]!
    .cfi_def_cfa_offset 0x30
    .cfi_offset x29, -0x30
    .cfi_offset x30, -0x28
    mov x0, #4
    mov x1, #0x18
    stp x0, x1, [sp, #0x18]
    add x29, sp, #0x18
over_local_body:
    ldr x0, [x29]
    ldr x1, [x29, #8]
    add x0, x0, x1
    str xzr, [x29, #8]
over_local_zero:
    ldr x1, [x29, #8]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x30
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size over_local, . - over_local
