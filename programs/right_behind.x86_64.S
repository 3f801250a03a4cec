// summary: jumps to the function that stands right behind a call which never returns
// exit: 42
// frames: leaf = leaf, work, main, _start
// frames: behind = behind, work, main, _start
// frames: behind_body = behind, work, main, _start
// frames: helper#1 = helper, work, main, _start
// frames: helper#2 = helper, behind, work, main, _start
// frames: last_leaf = last_leaf, behind, work, main, _start
// frames: finish = finish, behind, work, main, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call main
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// main: work(5), which never returns, and an instruction behind it
.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov edi, 5
    call work
    ret
    .cfi_endproc
.size main, . - main

// helper(x) = x + 0xa
.type helper, @function
helper:
    .cfi_startproc
    add edi, 0xa
    ret
    .cfi_endproc
.size helper, . - helper

// leaf(x): behind(x + 7)
.type leaf, @function
leaf:
    .cfi_startproc
    add edi, 7
    jmp behind
    .cfi_endproc
.size leaf, . - leaf

// last_leaf(x): finish(x + 0xa)
.type last_leaf, @function
last_leaf:
    .cfi_startproc
    add edi, 0xa
    jmp finish
    .cfi_endproc
.size last_leaf, . - last_leaf

// work(x): leaf(helper(x)). The next function begins at the return address of its last call
.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call helper
    call leaf
    .cfi_endproc
.size work, . - work

// behind(x): last_leaf(helper(x)), in the same way
.type behind, @function
behind:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
behind_body:
    call helper
    call last_leaf
    .cfi_endproc
.size behind, . - behind

// finish(x) exits with x, and keeps no return address
.type finish, @function
finish:
    .cfi_startproc
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size finish, . - finish
