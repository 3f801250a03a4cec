// A macro that stands for one directive with its own arguments is that directive, whatever its name: an argument of its
// use is what is wrong, and what is missing is written with it.
//
// case: every row is right
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back
// case: a wrong argument
// -         ADJUST(8)
// -         SLOT(%rbx, 0)
// +         ADJUST(16)
// +         SLOT(%rbx, 0)
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `mov %rdi, %rbx`, at -2, 9: `ADJUST(16)`; f < no code (the word at CFA+0); tried: it makes 6 instructions right and none wrong
// | f+0x3 (mov %rdi, %rbx): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+24 here; the row says %rbx is at CFA-32, %rbx still has the caller's value: write `ADJUST(8)` for `ADJUST(16)` in line 13 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: one is missing
// -         SLOT(%rbx, 0)
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | warning `mov %rbx, %r12`, at -2, 9: `ADJUST(8)`; f < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x6 (mov %rbx, %r12): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-24: add `SLOT(%rbx, 0)` behind line 13 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

#define ADJUST(by) .cfi_adjust_cfa_offset by
#define SLOT(reg, at) .cfi_rel_offset reg, (at)
#define BACK(reg) .cfi_restore reg

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        push %r12
        ADJUST(8)
        SLOT(%r12, 0)
        push %rbx
        ADJUST(8)
        SLOT(%rbx, 0)
        mov %rdi, %rbx
        mov %rbx, %r12
        mov %r12, %rax
        pop %rbx
        ADJUST(-8)
        BACK(%rbx)
        pop %r12
        ADJUST(-8)
        BACK(%r12)
        ret
        .cfi_endproc
        .size f, .-f
