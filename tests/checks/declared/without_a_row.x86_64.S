// Code without a row is a finding and never right.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 2 functions has code without a row; all 4 instructions were executed; 3 have no row.
// | error `f:      push %rbx`, at +0, 9: `push %rbx`; f < nothing more; tried: it makes 2 of 3 instructions right; what the others need as well, testbed annotate writes
// | f (push %rbx): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 4, and `.cfi_endproc` behind line 6 (tried: it makes 2 of 3 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 3, 3 executed, 3 without row, all came back
// | g: 1, 1 executed, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 4 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      push %rbx
        pop %rbx
        ret
        .size f, .-f
        .globl g
        .type g, @function
g:      .cfi_startproc
        ret
        .cfi_endproc
        .size g, .-g
