// A source without any directive: nothing that has rows calls it, and no row of it is right.
//
// case: as it stands
// | it: there is no unwind table, so no row is right or wrong; all 5 instructions were executed; 5 have no row.
// | note `f:      pushq   %rbx`, at +0, 9: `pushq %rbx`; f < nothing more; tried: it makes 2 of 5 instructions right; what the others need as well, testbed annotate writes
// | f (pushq %rbx): nothing calls it from code that has rows: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 4, and `.cfi_endproc` behind line 8 (tried: it makes 2 of 5 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | f: 5, 5 executed, 5 without row, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 5 instructions were executed.

        .globl f
        .hidden f
        .type f, @function
f:      pushq   %rbx
        movl    %edi, %ebx
        movl    %ebx, %eax
        popq    %rbx
        ret
        .size f, .-f
