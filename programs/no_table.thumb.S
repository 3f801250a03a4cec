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

.syntax unified
.thumb
.cfi_sections .debug_frame

.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, r7
    mov lr, r7
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
.thumb_func
main:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
main_body:
    movs r0, #9
    bl framed
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// framed(x) = bare(x) + 1; no table describes it
.type framed, %function
.thumb_func
framed:
    push {r7, lr}
    mov r7, sp
framed_body:
    bl bare
    adds r0, r0, #1
    pop.w {r7, lr}
    bx lr
.size framed, . - framed

// bare(x) = tabled(x) + x; no table, and no frame record
.type bare, %function
.thumb_func
bare:
    push {r4, lr}
    mov r4, r0
bare_body:
    bl tabled
    adds r0, r0, r4
    pop.w {r4, lr}
bare_return:
    bx lr
.size bare, . - bare

// tabled(x) = x + 7
.type tabled, %function
.thumb_func
tabled:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size tabled, . - tabled
