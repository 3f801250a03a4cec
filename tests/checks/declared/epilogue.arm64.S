// An epilogue without directives is wrong where compilers write them. The linker's `.comment` names a producer
// too: none that is known to leave epilogues out.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `ret`, at -1, 9: `ldr x19, [sp], #16`; f < caller < no code (the word at CFA+256); tried: it makes 1 instruction right and none wrong
// | f+0x10 (ret): the caller is found, and who called it is lost: the row says CFA = sp+16, the true CFA is sp+0 here: add `.cfi_def_cfa_offset 0` behind line 10 (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        str x19, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x19, -16
        mov x19, x0
        add x0, x19, #1
        ldr x19, [sp], #16
        ret
        .cfi_endproc
        .size f, .-f
