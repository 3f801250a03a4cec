// summary: the standard prologue and epilogue with synchronous rows: right at calls, and nowhere else
// exit: 27
// trap: 5 llvm/llvm-project#63598, llvm/llvm-project#165215, libunwind/libunwind#792
// twin: rows_everywhere
// wrong: work_pushed..work_body, work_popped..work_end, leaf_pushed..leaf_body, leaf_popped..leaf_end
// frames: work_body = work, main, _start
// frames: leaf_pushed = leaf, work, main, _start
// frames: leaf_popped = leaf, work, main, _start
// frames: work_popped = work, main, _start

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

// work(9) = leaf(9) + 9
.type work, @function
work:
    .cfi_startproc
    push rbp
work_pushed:
    mov rbp, rsp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    .cfi_def_cfa_register rbp
work_body:
    call leaf
    add eax, edi
    pop rbp
work_popped:
    ret
work_end:
    .cfi_endproc
.size work, . - work

// leaf(x) = 2 * x
.type leaf, @function
leaf:
    .cfi_startproc
    push rbp
leaf_pushed:
    mov rbp, rsp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    .cfi_def_cfa_register rbp
leaf_body:
    lea eax, [rdi + rdi]
    pop rbp
leaf_popped:
    ret
leaf_end:
    .cfi_endproc
.size leaf, . - leaf
