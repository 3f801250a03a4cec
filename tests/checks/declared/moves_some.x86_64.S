// Of several lines that stand together those are moved that belong elsewhere, as their author writes them.
//
// case: one is late
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `popq %rbp`, at +1, 2: `CFI_POP(%rbx)` in CFI_POP, -14; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0xa (popq %rbp): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: move `CFI_POP(%rbx)` from line 16 before line 15 (.eh_frame; seen when it was executed)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: one is early
// -  popq %rbx
// -  popq %rbp
// -  CFI_POP(%rbx)
// -  CFI_POP(%rbp)
// +  popq %rbx
// +  CFI_POP(%rbx)
// +  CFI_POP(%rbp)
// +  popq %rbp
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `popq %rbp`, at -1, 2: `CFI_POP(%rbp)` in CFI_POP, -14; f < no code (the caller's %rbp); tried: it makes 1 instruction right and none wrong
// | f+0xa (popq %rbp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbp is still in %rbp, the caller's %rbp is at CFA-16: move `CFI_POP(%rbp)` from line 16 behind line 17 (.eh_frame; seen when it was executed)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

#define CFI_PUSH(reg) .cfi_adjust_cfa_offset 8; .cfi_rel_offset reg, 0
#define CFI_POP(reg) .cfi_adjust_cfa_offset -8; .cfi_restore reg
 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 pushq %rbp
 CFI_PUSH(%rbp)
 pushq %rbx
 CFI_PUSH(%rbx)
 movq %rdi, %rbx
 leaq 1(%rbx), %rbp
 popq %rbx
 popq %rbp
 CFI_POP(%rbx)
 CFI_POP(%rbp)
 ret
 .cfi_endproc
 .size f, . - f
