// A file whose only label is that of an instruction that fills up elsewhere.
//
// case: without a type
// | it: every row is right; all 3 instructions were executed.
// | g: 3, 3 executed, all came back

        .text
        .globl g
g:      .cfi_startproc
        nop
        lea 1(%rdi), %rax
        ret
        .cfi_endproc
