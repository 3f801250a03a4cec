// summary: calls that are made by hand or passed on, over far stacks, and locals that look like return addresses
// exit: 20
// frames: second_body = second, _start
// frames: third = third, second, _start
// frames: pointers_body#1 = pointers, _start
// frames: deep#1 = deep, mid, main, _start
// frames: copies_body#2 = copies, under, main, _start
// frames: main_body#2 = main, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    mov x0, #9
    sub sp, sp, #0x9, lsl #0xc
    bl first
    add sp, sp, #0x9, lsl #0xc
    adr x1, pointers
    blr x1
    adr x30, back
    b main
    nop
back:
    sub sp, sp, #0x9, lsl #0xc
    adr x30, back_below
    b main
    nop
back_below:
    adr x9, never_back
    stp x9, x9, [sp, #-0x10]!
    adr x30, back_again
    b main
    nop
back_again:
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

// main(x) = x + 3: no call is in front of where it returns to; the second time there is nothing else for 36 KiB, the third
// time an address behind a call that was never made
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
    bl mid
    bl roomy
    bl pointers
    bl under
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// passes its call on
.type first, %function
first:
    .cfi_startproc
    b second
    .cfi_endproc
.size first, . - first

// the call before its return address names `first`
.type second, %function
second:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
second_body:
    bl third
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size second, . - second

// third(x) = x + 1
.type third, %function
third:
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
.size third, . - third

// mid(x) = deep(x), whose return address stays below SP
.type mid, %function
mid:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl deep
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size mid, . - mid

// deep(x) = x + 1
.type deep, %function
deep:
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
.size deep, . - deep

// its locals, which it never writes, are where `deep` was
.type roomy, %function
roomy:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #0x40
    nop
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size roomy, . - roomy

// pointers(x) = x + 1, with an address behind a call that was never made
.type pointers, %function
pointers:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #0x40
    adr x9, never_back
    str x9, [sp]
pointers_body:
    add x0, x0, #1
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size pointers, . - pointers

// under(x) = copies(x)
.type under, %function
under:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl copies
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size under, . - under

// copies(x) = x + 1, with a copy of its caller's return address
.type copies, %function
copies:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #0x40
    ldr x9, [x29]
    ldr x9, [x9, #8]
    str x9, [sp]
copies_body:
    add x0, x0, #1
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size copies, . - copies

// nobody calls it
.type never, %function
never:
    .cfi_startproc
    blr x1
never_back:
    ret
    .cfi_endproc
.size never, . - never
