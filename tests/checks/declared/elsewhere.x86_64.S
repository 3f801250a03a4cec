// Rows that find what is not in the frame: in a word of the program's memory, and by a CFA on another stack.
// ! {"runs": 40, "steps": 200}
//
// case: a part whose return address is in memory, and another that pushes on a stack of its own
// | it: every row that was executed is right; 2 of 10 instructions were executed (20.0 %), 8 undecided, in pushed and kept.
// | f: 2, 2 executed, all came back
// | not called: kept: 3, 3 never
// | not called: pushed: 5, 5 never
// | note: not called, 2 places of code (kept, pushed): what stands there is no function that someone calls
// case: one of them is asked for by its name
// ! {"functions": ["kept"]}
// | it: nothing was compared, so no row is known to be right; 0 of 3 instructions were executed (0 %), 3 undecided, in kept.
// | not called: kept: 3, 3 never
// | note: not called, 1 place of code (kept): what stands there is no function that someone calls

        .data
place:  .quad 0
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        leaq    1(%rdi), %rax
        ret
        .cfi_endproc
        .size f, .-f
        .type kept, @function
kept:   .cfi_startproc
        .cfi_def_cfa %rsp, 0
        .cfi_escape 0x10, 16, 9, 0x03, 0, 0, 1, 0, 0, 0, 0, 0
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        jmp     *place(%rip)
        .cfi_endproc
        .size kept, .-kept
        .type pushed, @function
pushed: .cfi_startproc
        .cfi_escape 0x0f, 3, 0x77, 8, 0x06
        pushq   %rbx
        movl    %edi, %ebx
        movl    %ebx, %eax
        popq    %rbx
        jmp     *place(%rip)
        .cfi_endproc
        .size pushed, .-pushed
