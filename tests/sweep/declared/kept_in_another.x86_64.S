// cpuid overwrites rbx, which inline assembly puts into another register over it: no compiler has a row for that, and
// nobody is accused. What callers find their frames by, and what goes to the stack, has to be told.
//
// case: as it is
// | 1 of 1 agree, 1 private
// case: rbx is pushed
// -         xchgq   %rbx, %rsi
// +         pushq   %rbx
// +         .cfi_adjust_cfa_offset 8
// +         movl    %edi, %ebx
// -         xchgq   %rsi, %rbx
// +         popq    %rbx
// +         .cfi_adjust_cfa_offset -8
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x5 (row of f+0x3): the row says rbx is unchanged; there is another value, not the caller's, coming from f+0x3
// case: it is rbp
// -         xchgq   %rbx, %rsi
// +         xchgq   %rbp, %rsi
// -         xchgq   %rsi, %rbx
// +         xchgq   %rsi, %rbp
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x5 (row of f+0x0): the row says rbp is unchanged; there is the caller's rsi, coming from f+0x2

        .globl f
        .type f, @function
f:      .cfi_startproc
        movl    %edi, %eax
        xchgq   %rbx, %rsi
        cpuid
        xchgq   %rsi, %rbx
        ret
        .cfi_endproc
        .size f, .-f
