// summary: calls that are made by hand or passed on, over far stacks, and locals that look like return addresses
// exit: 20
// frames: second_body = second, _start
// frames: third = third, second, _start
// frames: pointers_body#1 = pointers, _start
// frames: deep#1 = deep, mid, main, _start
// frames: copies_body#2 = copies, under, main, _start
// frames: main_body#2 = main, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov edi, 9
    sub rsp, 0x9000
    call first
    add rsp, 0x9000
    lea rax, [rip + pointers]
    call rax
    lea rax, [rip + back]
    push rax
    jmp main
back:
    sub rsp, 0x9000
    lea rax, [rip + back_below]
    push rax
    jmp main
back_below:
    lea rax, [rip + never_back]
    push rax
    push rax
    lea rax, [rip + back_again]
    push rax
    jmp main
back_again:
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// main(x) = x + 3: no call is in front of where it returns to; the second time there is nothing else for 36 KiB, the third
// time an address behind a call that was never made
.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
main_body:
    call mid
    call roomy
    call pointers
    call under
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// passes its call on
.type first, @function
first:
    .cfi_startproc
    jmp second
    .cfi_endproc
.size first, . - first

// the call before its return address names `first`
.type second, @function
second:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
second_body:
    call third
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size second, . - second

// third(x) = x + 1
.type third, @function
third:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    inc edi
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size third, . - third

// mid(x) = deep(x), whose return address stays below SP
.type mid, @function
mid:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call deep
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size mid, . - mid

// deep(x) = x + 1
.type deep, @function
deep:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    inc edi
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size deep, . - deep

// its locals, which it never writes, are where `deep` was
.type roomy, @function
roomy:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x40
    nop
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size roomy, . - roomy

// pointers(x) = x + 1, with an address behind a call that was never made
.type pointers, @function
pointers:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x40
    lea rax, [rip + never_back]
    mov [rsp], rax
pointers_body:
    inc edi
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size pointers, . - pointers

// under(x) = copies(x)
.type under, @function
under:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call copies
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size under, . - under

// copies(x) = x + 1, with a copy of its caller's return address
.type copies, @function
copies:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x40
    mov rax, [rbp]
    mov rax, [rax + 8]
    mov [rsp], rax
copies_body:
    inc edi
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size copies, . - copies

// nobody calls it
.type never, @function
never:
    .cfi_startproc
    call rax
never_back:
    ret
    .cfi_endproc
.size never, . - never
