// Assembly that never says `.type`: nothing goes on behind `int3`, so a label there is a function, and filling is none.
//
// case: as it is
// | it: 1 of 3 functions has a wrong row and 2 have code without a row; all 9 instructions were executed; 4 have no row.
// | error `nop`, at +0, 2: `nop`; first < nothing more; tried: it makes 2 instructions right and none wrong
// | first (nop): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 4, and `.cfi_endproc` behind line 5 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `nop`, at +0, 2: `nop`; second < nothing more; tried: it makes 2 instructions right and none wrong
// | second (nop): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 9, and `.cfi_endproc` behind line 10 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `movq %rdi, %rbx`, at -1, 2: `pushq %rbx`; third < no code (the caller's %rbx); tried: it makes 3 instructions right and none wrong
// | third+0x1 (movq %rdi, %rbx): the caller is lost: the row says CFA = %rsp+0x8, the true CFA is %rsp+0x10 here: add `.cfi_def_cfa_offset 0x10` and `.cfi_offset %rbx, -0x10` behind line 16, and `.cfi_def_cfa_offset 0x8` and `.cfi_restore %rbx` behind line 19 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | first: 2, 2 executed, 2 without row, some came back
// | second: 2, 2 executed, 2 without row, some came back
// | third: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

 .text
 .globl first
first:
 nop
 call elsewhere
 int3
 .globl second
second:
 nop
 call elsewhere
 int3
 int3
 .globl third
third:
 .cfi_startproc
 pushq %rbx
 movq %rdi, %rbx
 movq %rbx, %rax
 popq %rbx
 ret
 .cfi_endproc
