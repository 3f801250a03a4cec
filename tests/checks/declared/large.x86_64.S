// A large frame by a constant in a register counts as any other.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 5 instructions were executed.
// | f: 5, 5 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        movl    $0x5000, %r11d
        subq    %r11, %rsp
        .cfi_adjust_cfa_offset 0x5000
        leaq    16(%rsp), %rax
        addq    $0x5000, %rsp
        .cfi_adjust_cfa_offset -0x5000
        ret
        .cfi_endproc
        .size f, .-f
