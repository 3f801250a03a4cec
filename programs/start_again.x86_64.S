// summary: start code that is jumped to, as a dynamic linker jumps to a program's: nobody called it, whatever lies there
// exit: 42
// frames: main = main, _start
// frames: again = _start

.intel_syntax noprefix

// nobody calls it; it counts in the word on top of the stack, where Linux puts the number of arguments
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov edi, dword ptr [rsp]
    call main
again:
    mov dword ptr [rsp], edi
    cmp edi, 0x2a
    jne _start
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// main(x) = x + 21
.type main, @function
main:
    .cfi_startproc
    add edi, 0x15
    ret
    .cfi_endproc
.size main, . - main
