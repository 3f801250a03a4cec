// Which column the return address has is said by the CIE: another one than the architecture's is another address.
//
// case: the column of a register that the function keeps
// | it: 1 of 1 function has a wrong row; all 2 instructions were executed.
// | error `lea 1(%rdi), %rax`, at +0, 9: `lea 1(%rdi), %rax`; f < no code (another %rbx at other visits)
// | f (lea 1(%rdi), %rax): the caller is lost: the row says the return address is in the column of %rbx, and what that has is not where it returns to; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 2, 2 executed, all came back
// case: that of the return address
// -         .cfi_return_column %rbx
// +         .cfi_return_column 16
// | it: every row is right; all 2 instructions were executed.
// | f: 2, 2 executed, all came back

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        .cfi_return_column %rbx
        lea 1(%rdi), %rax
        ret
        .cfi_endproc
        .size f, .-f
