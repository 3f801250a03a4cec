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
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
main_body:
    mov r0, #9
    bl framed
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// framed(x) = bare(x) + 1; no table describes it
.type framed, %function
framed:
    push {r11, lr}
    mov r11, sp
framed_body:
    bl bare
    add r0, r0, #1
    pop {r11, lr}
    bx lr
.size framed, . - framed

// bare(x) = tabled(x) + x; no table, and no frame record
.type bare, %function
bare:
    push {r4, lr}
    mov r4, r0
bare_body:
    bl tabled
    add r0, r0, r4
    pop {r4, lr}
bare_return:
    bx lr
.size bare, . - bare

// tabled(x) = x + 7
.type tabled, %function
tabled:
    .fnstart
    .cfi_startproc
    add r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size tabled, . - tabled
