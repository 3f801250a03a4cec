// libgcc's `__morestack`: who calls it has no frame yet, and is called back by it, on another stack. So its rows leave
// him out, from the first instruction to the last.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right but those of 1 function for another entry than a call; 4 of 10 instructions were executed (40.0 %), 6 undecided, in f.
// | note `pushq %rbp`, at +0, 1: `pushq %rbp`
// | f (pushq %rbp): the row says CFA = %rsp+16, and a call leaves less, and is never returned from: it supposes another entry, as by a jump (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 10, 4 executed, 6 never, some came back
// | dropped 3: SP leaves the stack
// | dropped 1: came back with another SP, or with callee-saved registers lost
// case: it stays on its stack and returns, so a call is what enters it
// - movq %rax, %rsp
// - movq 8(%rbp), %r10
// - incq %r10
// - call *%r10
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `pushq %rbp`, at -1, 1: `.cfi_def_cfa_offset 16`; f < no code (the word at CFA+0); tried: it makes 6 instructions right and none wrong
// | f (pushq %rbp): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: take out `.cfi_def_cfa_offset 16` in line 5, write `.cfi_def_cfa_offset 16` for `.cfi_def_cfa_offset 24` in line 7, `.cfi_offset %rbp, -16` for `.cfi_offset %rbp, -24` in line 8, and `.cfi_def_cfa %rsp, 8` for `.cfi_def_cfa %rsp, 16` in line 15 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.
// case: only its first directive stands too early
// - pushq %rbp
// - .cfi_def_cfa_offset 24
// - .cfi_offset %rbp, -24
// + pushq %rbp
// + .cfi_offset %rbp, -16
// - .cfi_def_cfa %rsp, 16
// + .cfi_def_cfa %rsp, 8
// | it: 1 of 1 function has a wrong row; 4 of 10 instructions were executed (40.0 %), 6 undecided, in f.
// | error `pushq %rbp`, at -1, 1: `.cfi_def_cfa_offset 16`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f (pushq %rbp): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: move `.cfi_def_cfa_offset 16` from line 5 behind line 6 (.eh_frame; seen when it was executed)
// | f: 10, 4 executed, 6 never, some came back
// | dropped 3: SP leaves the stack
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | as is advised: it: every row that was executed is right; 4 of 10 instructions were executed (40.0 %), 6 only read.

.text
.globl f
.type f, @function
f: .cfi_startproc
.cfi_def_cfa_offset 16
pushq %rbp
.cfi_def_cfa_offset 24
.cfi_offset %rbp, -24
movq %rsp, %rbp
.cfi_def_cfa_register %rbp
call find
movq %rax, %rsp
movq 8(%rbp), %r10
incq %r10
call *%r10
movq %rbp, %rsp
popq %rbp
.cfi_restore %rbp
.cfi_def_cfa %rsp, 16
ret
.cfi_endproc
.size f, .-f
