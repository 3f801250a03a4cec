// summary: a function with its table entry, and a stale one that overlaps its second half
// exit: 25
// trap: 29 libunwind/libunwind#285
// twin: overlap
// wrong: work_body..work_popped
// recipes: clang-*
// clang-only: directives cannot make entries that overlap
// frames: work_body = work, main, _start
// frames: helper = helper, work, main, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call main
    mov edi, eax
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
main_body:
    mov edi, 9
    call work
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// work(x) = helper(x) + x
.type work, @function
work:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
    mov ebx, edi
work_body:
    call helper
    add eax, ebx
    pop rbx
work_popped:
    .cfi_restore rbx
    .cfi_def_cfa_offset 8
    ret
work_end:
    .cfi_endproc
.size work, . - work

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper

    // An entry that an earlier version of work left behind: its rows are those of a function's first instruction.
    .section .eh_frame,"a",@progbits
.Lcie:
    .long .Lcie_end - .Lcie_start
.Lcie_start:
    .long 0
    .byte 1
    .asciz "zR"
    .byte 1
    .byte 0x78
    .byte 0x10
    .byte 1
    .byte 0x1b
    .byte 0x0c, 7, 8, 0x90, 1
.p2align 3
.Lcie_end:
    .long .Lfde_end - .Lfde_start
.Lfde_start:
    .long .Lfde_start - .Lcie
    .long work_body - .
    .long work_end - work_body
    .byte 0
.p2align 3
.Lfde_end:
