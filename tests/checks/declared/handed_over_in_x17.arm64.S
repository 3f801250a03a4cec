// Hooks hand over in a register of veneers, as shadowhook's: what is read by it chooses a block that gives registers
// back from where a callee may have changed them.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row is right, but on 4 ways that no run took; all 17 instructions were executed.
// | f: 17, 12 executed, 5 forced, all came back
// | note: .eh_frame: no run has changed d8 at f, d9 at f, d10 at f and 1 more, which the instructions write, perhaps under a condition; --call can try it
// | dropped 3: came back with another SP, or with callee-saved registers lost
// case: the block counts from another CFA
// - 1: ldp q8, q9, [sp, #32]
// + 1: .cfi_def_cfa_offset 0
// + ldp q8, q9, [sp, #32]
// | it: 1 of 1 function has a wrong row; 15 of 17 instructions were executed (88.2 %), 2 undecided, in f.
// | error `ldp q8, q9, [sp, #32]`, at -1, 4: `.cfi_def_cfa_offset 0`; f < no code (the word at CFA-216); tried: it makes 1 instruction right and none wrong
// | f+0x38 (ldp q8, q9, [sp, #32]): the caller is lost: the row says CFA = sp+0, the true CFA is sp+112 here: write `.cfi_def_cfa_offset 112` for `.cfi_def_cfa_offset 0` in line 27 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 17, 12 executed, 3 forced, 2 never, all came back
// | note: 2 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | dropped 3: came back with another SP, or with callee-saved registers lost
// | as is advised: it: every row is right, but on 4 ways that no run took; all 17 instructions were executed.

.text
.globl f
.type f, %function
f: .cfi_startproc
sub sp, sp, #112
.cfi_def_cfa_offset 112
stp x29, x30, [sp]
.cfi_rel_offset x29, 0
.cfi_rel_offset x30, 8
ldr x17, [x17]
str x17, [sp, #16]
tbz x17, #0, 3f
stp q8, q9, [sp, #32]
stp q10, q11, [sp, #64]
3: mov x0, sp
bl elsewhere
ldr x17, [sp, #16]
tbnz x17, #1, 1f
2: ldp x29, x30, [sp]
.cfi_remember_state
.cfi_restore x29
.cfi_restore x30
add sp, sp, #112
.cfi_def_cfa_offset 0
ret
.cfi_restore_state
1: ldp q8, q9, [sp, #32]
ldp q10, q11, [sp, #64]
b 2b
.cfi_endproc
.size f, .-f
