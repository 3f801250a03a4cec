// summary: two ways out share one hoisted "add sp": the rows follow it to its new place
// exit: 26
// trap: 7 llvm/llvm-project#220720
// frames: choose_body = choose, main, _start
// frames: helper = helper, choose, main, _start
// frames: hoisted = choose, main, _start
// frames: large_return = choose, main, _start
// frames: small_return = choose, main, _start

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
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
main_body:
    mov x0, #1
    bl choose
    str x0, [sp, #0x10]
    mov x0, #8
    bl choose
    ldr x1, [sp, #0x10]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// choose(x) = y + (y < 10 ? 2 : 1) with y = helper(x)
.type choose, %function
choose:
    .cfi_startproc
    str x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x30, -0x10
choose_body:
    bl helper
    cmp x0, #0xa
    ldr x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x30
hoisted:
    b.lo small
    add x0, x0, #1
large_return:
    ret
small:
    add x0, x0, #2
small_return:
    ret
    .cfi_endproc
.size choose, . - choose

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
