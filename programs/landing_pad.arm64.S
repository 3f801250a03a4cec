// summary: an exception: two frames are cut off, and the landing pad finds SP elsewhere
// exit: 16
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// traits: LOST_REGISTER
// frames: catcher_body = catcher, main, _start
// frames: thrower_body = thrower, middle, catcher, main, _start
// frames: pad = catcher, main, _start
// frames: helper = helper, catcher, main, _start

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
main_body:
    mov x0, #9
    bl catcher
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// catcher(x): calls middle with arguments on the stack; the landing pad finds SP elsewhere
.type catcher, %function
catcher:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #0x20
    stur x0, [x29, #-8]
    stp x0, x0, [sp, #-0x10]!
catcher_body:
    bl middle
    brk #1
pad:
    ldur x0, [x29, #-8]
    bl helper
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size catcher, . - catcher

.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl thrower
    brk #1
    .cfi_endproc
.size middle, . - middle

// cuts the stack down to catcher's frame, two frames out, and enters its landing pad
.type thrower, %function
thrower:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
thrower_body:
    ldr x29, [x29]
    .cfi_def_cfa sp, 0x10
    .cfi_restore x29
    ldr x29, [x29]
    .cfi_undefined x29
    sub x9, x29, #0x20
cutting:
    mov sp, x9
    b pad
    .cfi_endproc
.size thrower, . - thrower

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
