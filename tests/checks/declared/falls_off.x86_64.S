// What falls off a function is not followed into the next.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 4 instructions were executed.
// | f: 2, 2 executed, some came back
// | g: 2, 2 executed, all came back

        .globl f, g
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq %rdi, %rbx
        .cfi_endproc
        .size f, .-f
        .p2align 4, 0x90
        .type g, @function
g:      .cfi_startproc
        movl $1, %eax
        ret
        .cfi_endproc
        .size g, .-g
