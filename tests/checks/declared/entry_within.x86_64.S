// Code without a row that goes on into a function with rows: its entry ends where that one's begins.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 2 functions has code without a row; all 7 instructions were executed; 4 have no row.
// | error `f:      movl    $1, %eax`, at +0, 9: `movl $1, %eax`; f < nothing more; tried: it makes 4 instructions right and none wrong
// | f (movl $1, %eax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 4, and `.cfi_endproc` behind line 7 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 4, 4 executed, 4 without row, all came back
// | g: 3, 3 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

        .text
        .globl  f, g
        .type   f, @function
f:      movl    $1, %eax
        testq   %rdi, %rdi
        je      g
        addl    $1, %eax
        .type   g, @function
g:
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
        .size   g, .-g
