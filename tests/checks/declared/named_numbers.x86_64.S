// Directives with names for numbers, which only the assembler knows.
//
// case: every row is right
// | it: every row is right; all 5 instructions were executed.
// | f: 5, 5 executed, all came back
// case: a wrong slot behind one
// -         .cfi_offset %rbx, -FRAME
// +         .cfi_offset %rbx, -24
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `mov %rdi, %rbx`, at -1, 9: `.cfi_offset %rbx, -24`; f < caller (%rbx wrong) < main; tried: it makes 4 instructions right and none wrong
// | f+0x1 (mov %rdi, %rbx): %rbx is shown wrong in the caller: the row says %rbx is at CFA-24, %rbx still has the caller's value: write `.cfi_offset %rbx, -16` for `.cfi_offset %rbx, -24` in line 8 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: a wrong name
// -         .cfi_def_cfa_offset FRAME - 8
// +         .cfi_def_cfa_offset FRAME
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `ret`, at -1, 9: `.cfi_def_cfa_offset FRAME`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x8 (ret): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: write `.cfi_def_cfa_offset 8` for `.cfi_def_cfa_offset FRAME` in line 12 (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .set FRAME, 16
        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        push %rbx
        .cfi_def_cfa_offset FRAME
        .cfi_offset %rbx, -FRAME
        mov %rdi, %rbx
        mov %rbx, %rax
        pop %rbx
        .cfi_def_cfa_offset FRAME - 8
        ret
        .cfi_endproc
        .size f, .-f
