// Directives by the names of macros, as glibc has them, and what a macro without arguments stands for.
//
// case: every row is right
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 11 executed, 2 forced, all came back
// case: the adjustment is made an instruction late
// -         cfi_adjust_cfa_offset (-WORD)
// -         nop
// +         nop
// +         cfi_adjust_cfa_offset (-WORD)
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `nop`, at +1, 9: `cfi_adjust_cfa_offset (-WORD)`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x2 (nop): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: move `cfi_adjust_cfa_offset (-WORD)` from line 25 before line 24 (.eh_frame; seen when it was executed)
// | f: 13, 11 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: an offset that nothing was added to
// -         push %rbx
// -         cfi_def_cfa_offset (2*WORD)
// +         push %rbx
// +         cfi_def_cfa_offset (WORD)
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `mov %rdi, %rbx`, at -2, 9: `cfi_def_cfa_offset (WORD)`; f < no code (the caller's %rbx); tried: it makes 7 instructions right and none wrong
// | f+0x4 (mov %rdi, %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is at CFA-8, %rbx still has the caller's value: write `cfi_def_cfa_offset (16)` for `cfi_def_cfa_offset (WORD)` in line 27 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 13, 11 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: a slot is not told
// -         cfi_rel_offset (%rbx, 0)
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | warning `test %rsi, %rsi`, at -2, 9: `cfi_def_cfa_offset (2*WORD)`; f < caller (%rbx wrong) < main; tried: it makes 6 instructions right and none wrong
// | f+0x7 (test %rsi, %rsi): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 27 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 13, 11 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: the state is not given back behind a macro that returns
// -         cfi_remember_state
// -         RETURN
// +         RETURN
// - .Lmore: cfi_restore_state
// + .Lmore:
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `ADD %rsi, %rbx`, at +0, 9: `ADD %rsi, %rbx`; f < no code (the caller's %rbx); tried: it makes 3 instructions right and none wrong
// | f+0xe (add %rsi, %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `cfi_remember_state` behind line 31, and `cfi_restore_state` before line 37 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 13, 11 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.

#define cfi_startproc                   .cfi_startproc
#define cfi_endproc                     .cfi_endproc
#define cfi_adjust_cfa_offset(off)      .cfi_adjust_cfa_offset off
#define cfi_def_cfa_offset(off)         .cfi_def_cfa_offset off
#define cfi_rel_offset(reg, off)        .cfi_rel_offset reg, off
#define cfi_restore(reg)                .cfi_restore reg
#define cfi_remember_state              .cfi_remember_state
#define cfi_restore_state               .cfi_restore_state
#define WORD 8
#define POP(reg) pop reg; cfi_def_cfa_offset (WORD); cfi_restore (reg)
#define RETURN_END \
        POP (%rbx); \
        ret
#define RETURN RETURN_END
#define ADD add

        .text
        .globl f
        .type f, @function
f:      cfi_startproc
        push %rdi
        cfi_adjust_cfa_offset (WORD)
        pop %rax
        cfi_adjust_cfa_offset (-WORD)
        nop
        push %rbx
        cfi_def_cfa_offset (2*WORD)
        cfi_rel_offset (%rbx, 0)
        mov %rdi, %rbx
        test %rsi, %rsi
        jne .Lmore
        cfi_remember_state
        RETURN
/* A comment that says
        pop %rbx
   and is none of the code. */
.Lmore: cfi_restore_state
        ADD %rsi, %rbx
#if WORD == 4
        pop %rcx
#endif
        mov %rbx, %rax
        RETURN
        cfi_endproc
        .size f, .-f
