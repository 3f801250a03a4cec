// summary: stubs of a procedure linkage table that bind lazily: three instructions in, a word deeper
// exit: 16
// trap: 10 parca-dev/parca-agent#1058, https://sourceware.org/bugzilla/show_bug.cgi?id=20830
// traits: SPLIT_FUNCTION, INEXPRESSIBLE
// frames: stub = plt, main, _start
// frames: stub_pushed = plt, main, _start
// frames: plt = plt, main, _start
// frames: resolver = resolver, main, _start
// frames: helper = helper, main, _start

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
    call stub
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
.p2align 4
    .cfi_endproc
.size main, . - main

.type plt, @function
plt:
    .cfi_startproc
    .cfi_def_cfa_offset 0x10
    push qword ptr [rip + .Lmap]
    .cfi_def_cfa_offset 0x18
    jmp qword ptr [rip + .Lresolver]
    nop
    nop
    nop
    nop
    // the CFA is rsp + 8 + 8 * ((rip & 15) >= 11)
    .cfi_escape 0x0f, 0xb, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
stub:
    jmp qword ptr [rip + .Lentry]
stub_pushes:
    push 0x1000
stub_pushed:
    jmp plt
.p2align 4
    // The linker's data: nothing is bound yet.
.Lmap:
    .quad 0
.Lresolver:
    .quad resolver
.Lentry:
    .quad stub_pushes
    .cfi_endproc
.size plt, . - plt

// takes what the stubs pushed, and goes to the function
.type resolver, @function
resolver:
    .cfi_startproc
    .cfi_def_cfa_offset 0x18
    add rsp, 0x10
    .cfi_def_cfa_offset 8
    jmp helper
    .cfi_endproc
.size resolver, . - resolver

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
