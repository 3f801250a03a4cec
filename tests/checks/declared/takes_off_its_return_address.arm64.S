// Cangjie's `CalleeSavedStub`: who enters has put the return address on the stack, where the link register is that of
// another call. So it is taken off, over the one that a call leaves.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right but those of 1 function for another entry than a call; 5 of 8 instructions were executed (62.5 %), 3 undecided, in f.
// | note `stp x29, x30, [sp, #-32]!`, at -1, 1: `ldr x30, [sp], #16`
// | f+0x4 (stp x29, x30, [sp, #-32]!): the row says x30 is still in x30, and it is overwritten, saved nowhere: nobody calls this code, as where a processor begins (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 8, 5 executed, 3 never, some came back
// | dropped 3: a jump to where no code is
// case: called with its return address in the link register, it has saved that first
// - ldr x30, [sp], #16
// + nop
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back
// case: it returns to who called it all the same
// - ldr x30, [sp], #16
// + mov x9, x30
// + ldr x30, [sp], #16
// - ret
// + ret x9
// | it: 1 of 1 function has a wrong row; 6 of 9 instructions were executed (66.7 %), 3 undecided, in f.
// | error `stp x29, x30, [sp, #-32]!`, at -1, 1: `ldr x30, [sp], #16`; f < caller < no code (the word at CFA+256); tried: it makes 4 instructions right and none wrong
// | f+0x8 (stp x29, x30, [sp, #-32]!): the caller is found, and who called it is lost: the row says CFA = sp+0, the true CFA is sp-16 here: add `.cfi_adjust_cfa_offset -16` behind line 6 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | error `stp x29, x30, [sp, #-32]!`, at -1, 1: `ldr x30, [sp], #16`; f < what is in x30
// | f+0x8 (stp x29, x30, [sp, #-32]!): the caller is lost: the row says x30 is still in x30, the caller's x30 is in x9; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 9, 6 executed, 3 never, some came back
// | dropped 3: came back with another SP, or with callee-saved registers lost
// | as is advised: it: 1 of 1 function has a wrong row; 6 of 9 instructions were executed (66.7 %), 3 undecided, in f.

.text
.globl f
.type f, %function
f: .cfi_startproc
ldr x30, [sp], #16
stp x29, x30, [sp, #-32]!
.cfi_adjust_cfa_offset 32
.cfi_rel_offset x29, 0
.cfi_rel_offset x30, 8
mov x29, sp
str x19, [sp, #16]
bl find
ldr x19, [sp, #16]
ldp x29, x30, [sp], #32
.cfi_adjust_cfa_offset -32
.cfi_restore x29
.cfi_restore x30
ret
.cfi_endproc
.size f, .-f
