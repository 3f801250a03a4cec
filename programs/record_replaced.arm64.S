// summary: a record in which a callee puts the frame further out that an unwinder goes to, as libgcc does
// exit: 24
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// frames: install_half = install, raiser, middle, main, _start
// frames: install_done = install, raiser, middle, main, _start
// frames: install_landing = install, raiser, middle, main, _start
// frames: raiser_installed = raiser, middle, main, _start
// frames: middle_back = middle, main, _start

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
    mov x0, #9
    bl middle
    nop
.Lpad:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl raiser
middle_back:
    add x0, x0, #8
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

// raiser(x) = x + 7; it keeps what its table names and what its record has in two places, and the second is written over
.type raiser, %function
raiser:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    stp x29, x30, [sp, #0x10]
    add x29, sp, #0x10
    mov x1, x29
    bl install
raiser_installed:
    add x0, x0, #7
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size raiser, . - raiser

// install(x, record): into the record what its caller's has, and then where an exception would land
.type install, %function
install:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    ldr x2, [x1]
    ldp x2, x3, [x2]
    str x2, [x1]
install_half:
    str x3, [x1, #8]
install_done:
    adr x3, .Lpad
    str x3, [x1, #8]
install_landing:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size install, . - install
