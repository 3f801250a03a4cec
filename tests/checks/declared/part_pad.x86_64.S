// As GCC writes a part that holds a landing pad only: the no-operation keeps its offset from being 0.
// ! {"runs": 20, "steps": 60}
//
// case: as it is
// | it: every row that was executed is right; 2 of 6 instructions were executed (33.3 %), 4 only read.
// | f: 2, 2 executed, all came back
// | not called: no name: 4, 4 static
// | note: not called, 1 place of code: what stands there is no function that someone calls

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   f, .-f
        .cfi_startproc
        nop
        .cfi_def_cfa_offset 48
        .cfi_offset %rbx, -32
        mov     %rax, %rdi
        call    elsewhere
        ud2
        .cfi_endproc
