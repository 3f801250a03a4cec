// summary: a function called on another stack, as split stacks and Go's runtime do: with a record, and without
// exit: 24
// trap: 25 golang/go#63630, golang/go#17381, open-telemetry/opentelemetry-ebpf-profiler#1275, parca-dev/parca-agent#3123
// trap: 36 https://gcc.gnu.org/wiki/SplitStacks
// traits: OTHER_STACK, INEXPRESSIBLE
// frames: elsewhere_body = elsewhere, main, _start
// frames: helper#1 = helper, task, elsewhere, main, _start
// frames: elsewhere_back = elsewhere, main, _start
// frames: main_body = main, _start
// frames: system_body = system, main, _start
// frames: helper#2 = helper, task, system, main, _start

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
    mov edi, 9
    call elsewhere
main_body:
    mov edi, eax
    call system
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// elsewhere(x): runs task(x) on another stack, with a frame record that leads back
.type elsewhere, @function
elsewhere:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
elsewhere_body:
    mov rsp, qword ptr [rip + .Lstack_pointer]
    call task
    mov rsp, rbp
elsewhere_back:
    add eax, 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size elsewhere, . - elsewhere

// system(x): runs task(x) on another stack, as Go's runtime does: the frame pointer is cleared
.type system, @function
system:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    push r12
    .cfi_offset r12, -0x18
    mov r12, rsp
    .cfi_def_cfa r12, 0x18
    mov rsp, qword ptr [rip + .Lstack_pointer]
    xor ebp, ebp
system_body:
    call task
    mov rsp, r12
    .cfi_def_cfa rsp, 0x18
    pop r12
    .cfi_def_cfa_offset 0x10
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size system, . - system

.type task, @function
task:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call helper
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size task, . - task

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper

.p2align 3
.Lstack_pointer:
    .quad .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
