// What belongs before a directive of a macro belongs into the macro.
//
// case: an adjustment is missing there
// -         .cfi_adjust_cfa_offset 8
// +         // nothing
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `movq    %rdi, %rbx`, at -1, 9: `SAVE %rbx` in SAVE, -7; f < no code (the caller's %rbx); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x1 (movq %rdi, %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is at CFA-8, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 4 (in SAVE, used in line 11) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .macro  SAVE reg
        pushq   \reg
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \reg, 0
        .endm

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        SAVE    %rbx
        movq    %rdi, %rbx
        leaq    1(%rbx), %rax
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
