// A state is remembered before the directives that change it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | error `1: movl $1, %ebx`, at +0, 4: `movl $1, %ebx`; g < no code (the caller's %rbp); tried: it makes 5 instructions right and none wrong
// | g+0xd (movl $1, %ebx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here; the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16; the row says %rbp is still in %rbp, the caller's %rbp is at CFA-24: add `.cfi_remember_state` behind line 14, and `.cfi_restore_state` before line 21 (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | g: 15, 15 executed, all came back
// | as is advised: it: every row is right; all 15 instructions were executed.

 .globl g
 .type g, @function
g: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16
 pushq %rbp
 .cfi_def_cfa_offset 24
 .cfi_offset %rbp, -24
 xorl %ebx, %ebx
 xorl %ebp, %ebp
 testl %edi, %edi
 je 1f
 popq %rbp
 .cfi_restore %rbp
 .cfi_def_cfa_offset 16
 popq %rbx
 .cfi_restore %rbx
 .cfi_def_cfa_offset 8
 ret
1: movl $1, %ebx
 movl $1, %ebp
 nop
 popq %rbp
 .cfi_restore %rbp
 .cfi_def_cfa_offset 16
 popq %rbx
 .cfi_restore %rbx
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
 .size g, . - g
