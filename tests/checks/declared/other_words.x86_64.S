// Words of a row that are its author's: Panda's interpreter tells by an expression of a register that calls may
// change where it is; nobody keeps such a one.
//
// case: as it is
// | it: every row that was executed is right; 3 of 5 instructions were executed (60.0 %), 2 only read.
// | f: 5, 3 executed, 2 static, all came back
// case: of one that calls keep
// -         .cfi_escape 0x16, 0x02, 0x02, 0x73, 0x00
// +         .cfi_escape 0x16, 0x0c, 0x02, 0x73, 0x00
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `movq    %rsi, %rbx`, at -1, 9: `.cfi_escape 0x16, 0x0c, 0x02, 0x73, 0x00`; f < caller (%r12 wrong) < main; tried: it makes 4 instructions right and none wrong
// | f+0x1 (movq %rsi, %rbx): %r12 is shown wrong in the caller: the row says %r12 is what an expression computes, %r12 still has the caller's value: add `.cfi_restore %r12` behind line 8 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        .cfi_escape 0x16, 0x02, 0x02, 0x73, 0x00
        movq    %rsi, %rbx
        movq    %rbx, %rax
        .cfi_restore 2
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
