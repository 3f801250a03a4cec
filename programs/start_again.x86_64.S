// summary: start code that is jumped to, as a dynamic linker jumps to a program's: nobody called it, whatever lies there
// exit: 42
// frames: main = main, _start
// frames: again = _start

.intel_syntax noprefix

// nobody calls it; it counts in the upper half of the word on top of the stack, which holds the number of arguments
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
begin:
    xor ebp, ebp
    mov edi, dword ptr [rsp + 4]
    call main
again:
    mov dword ptr [rsp + 4], edi
    cmp edi, 0x2a
    jne begin
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// main(x) = x + 21
.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    add edi, 0x10
    add edi, 4
    add edi, 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main
