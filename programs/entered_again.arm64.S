// summary: a callee that never returns, in a caller that is entered again: setjmp returns twice, and each time calls it
// exit: 16
// traits: LOST_REGISTER
// frames: main_body = main, _start
// frames: set_jump = set_jump, main, _start
// frames: main_set#1 = main, _start
// frames: inner_body = inner, middle, main, _start
// frames: long_jump = long_jump, inner, middle, main, _start
// frames: main_set#2 = main, _start
// frames: middle#2 = middle, main, _start
// frames: inner#2 = inner, middle, main, _start
// frames: inner_done = inner, middle, main, _start
// frames: landed = main, _start
// frames: helper = helper, main, _start

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
    sub sp, sp, #0xb0
main_body:
    mov x0, sp
    bl set_jump
main_set:
    mov x1, x0
    mov x0, sp
    bl middle
landed:
    bl helper
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// middle(buffer, value) = inner(buffer, value)
.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl inner
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

// inner(buffer, value) = value, or it does not come back
.type inner, %function
inner:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    cbnz x1, inner_value
    mov x1, #9
inner_body:
    bl long_jump
inner_value:
    mov x0, x1
inner_done:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size inner, . - inner

// set_jump(buffer) = 0, or what long_jump gives it
.type set_jump, %function
set_jump:
    .cfi_startproc
    stp x19, x20, [x0]
    stp x21, x22, [x0, #0x10]
    stp x23, x24, [x0, #0x20]
    stp x25, x26, [x0, #0x30]
    stp x27, x28, [x0, #0x40]
    stp x29, x30, [x0, #0x50]
    stp d8, d9, [x0, #0x60]
    stp d10, d11, [x0, #0x70]
    stp d12, d13, [x0, #0x80]
    stp d14, d15, [x0, #0x90]
    mov x9, sp
    str x9, [x0, #0xa0]
    mov x0, #0
    ret
    .cfi_endproc
.size set_jump, . - set_jump

// long_jump(buffer, value): what is loaded is the target's, and the caller's values are lost
.type long_jump, %function
long_jump:
    .cfi_startproc
    ldp x19, x20, [x0]
    .cfi_undefined x19
    .cfi_undefined x20
    ldp x21, x22, [x0, #0x10]
    .cfi_undefined x21
    .cfi_undefined x22
    ldp x23, x24, [x0, #0x20]
    .cfi_undefined x23
    .cfi_undefined x24
    ldp x25, x26, [x0, #0x30]
    .cfi_undefined x25
    .cfi_undefined x26
    ldp x27, x28, [x0, #0x40]
    .cfi_undefined x27
    .cfi_undefined x28
    ldp d8, d9, [x0, #0x60]
    .cfi_undefined d8
    .cfi_undefined d9
    ldp d10, d11, [x0, #0x70]
    .cfi_undefined d10
    .cfi_undefined d11
    ldp d12, d13, [x0, #0x80]
    .cfi_undefined d12
    .cfi_undefined d13
    ldp d14, d15, [x0, #0x90]
    .cfi_undefined d14
    .cfi_undefined d15
    ldr x9, [x0, #0xa0]
    ldp x29, x10, [x0, #0x50]
    .cfi_undefined x29
    mov x0, x1
jumping:
    mov sp, x9
    br x10
    .cfi_endproc
.size long_jump, . - long_jump

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
