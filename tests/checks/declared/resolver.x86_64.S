// Rows that suppose another entry are noted if the function does so too: glibc's `_dl_runtime_resolve`.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right but those of 1 function for another entry than a call; 8 of 9 instructions were executed (88.9 %), 1 undecided, in resolve.
// | note `pushq %rbx`, at +0, 2: `pushq %rbx`
// | resolve (pushq %rbx): the row says CFA = %rsp+24, and a call leaves less, and is never returned from: it supposes another entry, as by a jump (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | resolve: 9, 8 executed, 1 never, some came back
// case: a wrong slot besides
// -  .cfi_rel_offset %rbx, 0
// +  .cfi_rel_offset %rbx, 8
// | it: every row that was executed is right but those of 1 function for another entry than a call; 8 of 9 instructions were executed (88.9 %), 1 undecided, in resolve.
// | note `pushq %rbx`, at +0, 2: `pushq %rbx`
// | resolve (pushq %rbx): the row says CFA = %rsp+24, and a call leaves less, and is never returned from: it supposes another entry, as by a jump (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | resolve: 9, 8 executed, 1 never, some came back
// case: the function takes nothing off
// -  addq $16, %rsp
// +  nop
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `pushq %rbx`, at -1, 2: `.cfi_adjust_cfa_offset 16`; resolve < no code (the word at CFA+8); tried: it makes 8 instructions right and none wrong
// | resolve (pushq %rbx): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+8 here: take out `.cfi_adjust_cfa_offset 16` in line 5, and `.cfi_adjust_cfa_offset -16` in line 18 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | resolve: 9, 9 executed, some came back
// | as is advised: it: every row is right; all 9 instructions were executed.

.text
.globl resolve
.type resolve, @function
resolve: .cfi_startproc
 .cfi_adjust_cfa_offset 16
 pushq %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbx, 0
 movq 16(%rsp), %rsi
 movq 8(%rsp), %rdi
 movl $1, %ebx
 call fixup@plt
 movq %rax, %r11
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 addq $16, %rsp
 .cfi_adjust_cfa_offset -16
 jmp *%r11
.cfi_endproc
.size resolve, . - resolve
