// A build may leave out what the source says of rows, by macros that stand for nothing: then that is to be told.
//
// case: as it is
// | it: there is no unwind table, so no row is right or wrong; all 2 instructions were executed; 2 have no row.
// | note `leaq 1(%rdi), %rax`, at +0, 9: `leaq 1(%rdi), %rax`; f < nothing more
// | f (leaq 1(%rdi), %rax): this build leaves out what the source says of rows: CFI_STARTPROC stands for nothing: no row covers this instruction, and its function is called (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 2, 2 executed, 2 without row, all came back
// case: there are no such macros
// - #define CFI_STARTPROC
// - #define CFI_ENDPROC
// + #define BEGINS
// + #define ENDS
// - f:      CFI_STARTPROC
// + f:      BEGINS
// -         CFI_ENDPROC
// +         ENDS
// | it: 1 of 1 function has code without a row; all 2 instructions were executed; 2 have no row.
// | error `leaq 1(%rdi), %rax`, at +0, 9: `leaq 1(%rdi), %rax`; f < nothing more; tried: it makes 2 instructions right and none wrong
// | f (leaq 1(%rdi), %rax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 7, and `.cfi_endproc` behind line 8 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 2, 2 executed, 2 without row, all came back
// | as is advised: it: every row is right; all 2 instructions were executed.

#define CFI_STARTPROC
#define CFI_ENDPROC
        .text
        .globl f
        .type f, @function
f:      CFI_STARTPROC
        leaq 1(%rdi), %rax
        ret
        CFI_ENDPROC
        .size f, .-f
