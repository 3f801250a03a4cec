// summary: calls through the global offset table instead of a linkage table, and functions that begin with a branch target
// exit: 22
// trap: 35 https://gcc.gnu.org/onlinedocs/gcc/Code-Gen-Options.html
// frames: both_body = both, main, _start
// frames: twice = twice, both, main, _start
// frames: add = add, both, main, _start

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
    bti c
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    mov x0, #4
    adr x16, .Lboth
    ldr x16, [x16]
    blr x16
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// both(n) = add(twice(n), n)
.type both, %function
both:
    .cfi_startproc
    bti c
    stp x30, x19, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x30, -0x10
    .cfi_offset x19, -8
both_body:
    mov x19, x0
    adr x16, .Ltwice
    ldr x16, [x16]
    blr x16
    mov x1, x19
    adr x16, .Ladd
    ldr x16, [x16]
    blr x16
    ldp x30, x19, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    .cfi_restore x19
    ret
    .cfi_endproc
.size both, . - both

.type twice, %function
twice:
    .cfi_startproc
    bti c
    add x0, x0, x0
    ret
    .cfi_endproc
.size twice, . - twice

// add(a, b) = a + b + 10
.type add, %function
add:
    .cfi_startproc
    bti c
    add x0, x0, x1
    add x0, x0, #0xa
    ret
    .cfi_endproc
.size add, . - add

.p2align 3
.Lboth:
    .quad both
.Ltwice:
    .quad twice
.Ladd:
    .quad add
