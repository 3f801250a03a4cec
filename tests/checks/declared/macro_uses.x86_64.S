// What one line of a macro makes wrong at its uses is one finding, corrected there, and tried by running again.
//
// case: a register's slot
// -         .cfi_rel_offset \reg, 0
// +         .cfi_rel_offset \reg, 8
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | warning `SAVE    %r12`, at -1, 9: `SAVE %rbx` in SAVE, -7; f < caller (%rbx wrong) < main; tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (pushq %r12): %rbx is shown wrong in the caller: the row says %rbx is at CFA-8, %rbx still has the caller's value: write `.cfi_rel_offset \reg, 0` for `.cfi_rel_offset \reg, 8` in line 4 (in SAVE, used in lines 11 and 12) (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: a missing adjustment, and what counts from it further down
// -         .cfi_adjust_cfa_offset 8
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `SAVE    %r12`, at -1, 9: `SAVE %rbx` in SAVE, -7; f < no code (the caller's %rbx); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (pushq %r12): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is at CFA-8, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 3 (in SAVE, used in lines 10 and 11) (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: all of it is missing
// -         .cfi_adjust_cfa_offset 8
// -         .cfi_rel_offset \reg, 0
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `SAVE    %r12`, at -1, 9: `SAVE %rbx` in SAVE, -7; f < no code (the caller's %r12); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (pushq %r12): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset 8` and `.cfi_rel_offset \reg, 0` behind line 2 (in SAVE, used in lines 9 and 10) (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: two mistakes, of which one hides the other
// -         .cfi_adjust_cfa_offset 8
// -         .cfi_rel_offset \reg, 0
// +         .cfi_adjust_cfa_offset 16
// +         .cfi_rel_offset \reg, 8
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `SAVE    %r12`, at -1, 9: `SAVE %rbx` in SAVE, -8; f < no code (the word at CFA+0); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (pushq %r12): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: write `.cfi_adjust_cfa_offset 8` and `.cfi_rel_offset \reg, 0` for `.cfi_adjust_cfa_offset 16` and `.cfi_rel_offset \reg, 8` in line 3 (in SAVE, used in lines 11 and 12) (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: a slot as no use but one has it
// -         .cfi_rel_offset \reg, 0
// +         .cfi_offset \reg, -16
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | warning `movq    %rdi, %rbx`, at -1, 9: `SAVE %r12` in SAVE, -8; f < caller (%r12 wrong) < main; tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x3 (movq %rdi, %rbx): %r12 is shown wrong in the caller: the row says %r12 is at CFA-16, %r12 still has the caller's value: write `.cfi_rel_offset \reg, 0` for `.cfi_offset \reg, -16` in line 4 (in SAVE, used in line 12) (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: the preprocessor's
// -         .macro  SAVE reg
// -         pushq   \reg
// -         .cfi_adjust_cfa_offset 8
// -         .cfi_rel_offset \reg, 0
// -         .endm
// +         #define SAVE(reg) pushq reg; \
// +         .cfi_rel_offset reg, 0
// -         SAVE    %rbx
// -         SAVE    %r12
// +         SAVE(%rbx)
// +         SAVE(%r12)
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `SAVE(%r12)`, at -1, 9: `SAVE(%rbx)` in SAVE, -6; f < no code (the caller's %rbx); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (pushq %r12): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is at CFA-8, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 2 (in SAVE, used in lines 8 and 9) (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.

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
        SAVE    %r12
        movq    %rdi, %rbx
        movq    %rsi, %r12
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        leaq    1(%rbx,%r12), %rax
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
