// summary: start code that is jumped to, as a dynamic linker jumps to a program's: nobody called it, whatever lies there
// exit: 42
// frames: main = main, _start
// frames: again = _start

// nobody calls it; when it comes round again, the link register is that of the call before; it counts on top of the stack
.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
begin:
    mov x29, #0
    ldr x0, [sp]
    bl main
again:
    str x0, [sp]
    cmp x0, #0x2a
    b.ne begin
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

// main(x) = x + 21
.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    add x0, x0, #0x15
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main
