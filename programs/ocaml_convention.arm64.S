// summary: OCaml's convention: no register is kept, below a function of the runtime that saves all that C keeps
// exit: 42
// frames: outer_body = camlMain__outer_1, caml_start_program, _start
// frames: inner_body = camlMain__inner_2, camlMain__outer_1, caml_start_program, _start
// frames: back = caml_start_program, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl caml_start_program
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

// start_program() = outer(5), which follows C's convention: what OCaml's functions here change is saved
.type caml_start_program, %function
caml_start_program:
    .cfi_startproc
    stp x29, x30, [sp, #-0x40]!
    .cfi_def_cfa_offset 0x40
    .cfi_offset x29, -0x40
    .cfi_offset x30, -0x38
    stp x19, x20, [sp, #0x10]
    .cfi_offset x19, -0x30
    .cfi_offset x20, -0x28
    stp x27, x28, [sp, #0x20]
    .cfi_offset x27, -0x20
    .cfi_offset x28, -0x18
    str d8, [sp, #0x30]
    .cfi_offset d8, -0x10
    mov x0, #5
    mov x27, #0x2000
    mov x28, #0x1000
    bl camlMain__outer_1
back:
    ldr d8, [sp, #0x30]
    .cfi_restore d8
    ldp x27, x28, [sp, #0x20]
    .cfi_restore x27
    .cfi_restore x28
    ldp x19, x20, [sp, #0x10]
    .cfi_restore x19
    .cfi_restore x20
    ldp x29, x30, [sp], #0x40
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size caml_start_program, . - caml_start_program

// outer(x) = inner(x) + x, with x in the frame across the call, since no register keeps it
.globl camlMain__outer_1
.type camlMain__outer_1, %function
camlMain__outer_1:
    .cfi_startproc
    sub sp, sp, #0x10
    .cfi_def_cfa_offset 0x10
    str x30, [sp, #8]
    .cfi_offset x30, -8
    mov x29, #7
    mov x20, #8
outer_body:
    str x0, [sp]
    bl camlMain__inner_2
    ldr x1, [sp]
    add x0, x0, x1
    ldr x30, [sp, #8]
    .cfi_restore x30
    add sp, sp, #0x10
    .cfi_def_cfa_offset 0
    sub x27, x27, #0x10
    ret
    .cfi_endproc
.size camlMain__outer_1, . - camlMain__outer_1

// inner(x) = 7 * x + 2, with an allocation, which moves x27
.type camlMain__inner_2, %function
camlMain__inner_2:
    .cfi_startproc
    mov x19, #7
    mul x19, x0, x19
    fmov d8, x19
    sub x27, x27, #0x10
inner_body:
    fmov x0, d8
    add x0, x0, #2
    ret
    .cfi_endproc
.size camlMain__inner_2, . - camlMain__inner_2
