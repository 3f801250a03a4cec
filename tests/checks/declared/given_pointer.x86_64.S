// A pointer that is given beside the arguments, to the frame around a nested function: what it points to is read
// and written.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 4 instructions were executed.
// | f: 4, 4 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    (%r10), %rax
        movq    %rax, (%r10)
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size f, .-f
