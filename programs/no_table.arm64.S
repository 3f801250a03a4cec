// summary: hand-written code without tables: a function with a frame record, and one that only moves SP
// exit: 26
// trap: 9 openssl/openssl#8853, openssl/openssl#8109, openssl/openssl#10635, awslabs/s2n-bignum#197
// trap: 18 libunwind/libunwind#659, libunwind/libunwind#638, async-profiler/async-profiler#1408
// trap: 32 libunwind/libunwind#965
// untabled: framed..tabled
// frames: framed_body = framed, main, _start
// frames: bare_body = bare, framed, main, _start
// frames: tabled = tabled, bare, framed, main, _start
// frames: bare_return = bare, framed, main, _start

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
    bl framed
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// framed(x) = bare(x) + 1; no table describes it
.type framed, %function
framed:
    stp x29, x30, [sp, #-0x10]!
    mov x29, sp
framed_body:
    bl bare
    add x0, x0, #1
    ldp x29, x30, [sp], #0x10
    ret
.size framed, . - framed

// bare(x) = tabled(x) + x; no table, and no frame record
.type bare, %function
bare:
    stp x19, x30, [sp, #-0x10]!
    mov x19, x0
bare_body:
    bl tabled
    add x0, x0, x19
    ldp x19, x30, [sp], #0x10
bare_return:
    ret
.size bare, . - bare

// tabled(x) = x + 7
.type tabled, %function
tabled:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size tabled, . - tabled
