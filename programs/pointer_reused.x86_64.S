// summary: the frame-pointer register as an ordinary one: a pointer to data, to a frame further out, to a local
// exit: 60
// frames: main_body = main, _start
// frames: over_data_body = over_data, middle, main, _start
// frames: helper = helper, over_data, middle, main, _start
// frames: over_data_zero = over_data, middle, main, _start
// frames: over_frames_body = over_frames, middle, main, _start
// frames: over_local_body = over_local, middle, main, _start
// frames: over_local_zero = over_local, middle, main, _start

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
    sub rsp, 0x10
main_body:
    mov qword ptr [rbp - 8], 7
    call middle
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// middle() = over_data(four numbers) + over_frames() + over_local()
.type middle, @function
middle:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x30
    mov qword ptr [rsp], 3
    mov qword ptr [rsp + 8], 0x10
    mov qword ptr [rsp + 0x10], 5
    mov qword ptr [rsp + 0x18], 0
    mov rdi, rsp
    call over_data
    mov qword ptr [rbp - 8], rax
    call over_frames
    add qword ptr [rbp - 8], rax
    call over_local
    add rax, qword ptr [rbp - 8]
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size middle, . - middle

// over_data(pairs) = helper(3 + 0x10) + 5 + 0: rbp goes over middle's pairs of numbers, which lie where records could
.type over_data, @function
over_data:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rdi
over_data_body:
    mov rdi, qword ptr [rbp]
    add rdi, qword ptr [rbp + 8]
    call helper
    add rbp, 0x10
over_data_zero:
    add rax, qword ptr [rbp]
    add rax, qword ptr [rbp + 8]
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size over_data, . - over_data

// helper(x) = x + 1
.type helper, @function
helper:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    lea rax, [rdi + 1]
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size helper, . - helper

// over_frames() = main's variable, as a nested function reads it: rbp leads to main's record, past middle's
.type over_frames, @function
over_frames:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, qword ptr [rbp]
over_frames_body:
    mov rax, qword ptr [rbp - 8]
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size over_frames, . - over_frames

// over_local() = 4 + 0x18 + 0: rbp points to a local of two words
.type over_local, @function
over_local:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    sub rsp, 0x20
    .cfi_def_cfa_offset 0x30
    mov qword ptr [rsp + 8], 4
    mov qword ptr [rsp + 0x10], 0x18
    lea rbp, [rsp + 8]
over_local_body:
    mov rax, qword ptr [rbp]
    add rax, qword ptr [rbp + 8]
    mov qword ptr [rbp + 8], 0
over_local_zero:
    add rax, qword ptr [rbp + 8]
    add rsp, 0x20
    .cfi_def_cfa_offset 0x10
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size over_local, . - over_local
