// Branches that belong together are no finding.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 9, 6 executed, 3 forced, all came back

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        mov %rdi, %r10
        cmp $0x12345678, %r10
        jne 1f
        push %rbx
        .cfi_adjust_cfa_offset 8
        pop %rbx
        .cfi_adjust_cfa_offset -8
1:      cmp $0x12345678, %r10
        jne 2f
        nop
2:      ret
        .cfi_endproc
        .size f, .-f
