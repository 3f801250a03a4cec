// An epilogue without directives is wrong where compilers write them. The linker's `.comment` names a producer
// too: none that is known to leave epilogues out.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `ret`, at -1, 9: `pop %rbx`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x7 (ret): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: add `.cfi_def_cfa_offset 8` behind line 10 (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        push %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        mov %edi, %ebx
        lea 1(%rbx), %eax
        pop %rbx
        ret
        .cfi_endproc
        .size f, .-f
