// OCaml's `caml_stack_overflow`: it takes SP from the handler's address. Nobody comes back to who called it.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 5 of 7 instructions were executed (71.4 %), 2 undecided, in raises; 2 have no row.
// | note `leaq raised(%rip), %rax`, at +0, 1: `leaq raised(%rip), %rax`; raises < nothing more
// | raises (leaq raised(%rip), %rax): it calls nothing, and each run leaves by another stack, as where an exception is raised: no row covers this instruction, and its function is called (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | raises: 4, 2 executed, 2 never, 2 without row, some came back
// | f: 2, 1 executed, 1 forced, some came back
// | g: 1, 1 executed, all came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 3: a jump to where no code is
// case: it returns
// - movq 8(%rdi), %rsp
// - popq (%rdi)
// | it: 1 of 3 functions has code without a row; all 5 instructions were executed; 2 have no row.
// | error `leaq raised(%rip), %rax`, at +0, 1: `leaq raised(%rip), %rax`; raises < nothing more; tried: it makes 2 instructions right and none wrong
// | raises (leaq raised(%rip), %rax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 5, and `.cfi_endproc` behind line 6 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | raises: 2, 2 executed, 2 without row, all came back
// | f: 2, 2 executed, all came back
// | g: 1, 1 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: it calls somebody first, who asks for its caller
// - leaq raised(%rip), %rax
// + subq $8, %rsp
// + call elsewhere
// | it: 1 of 3 functions has code without a row; 6 of 8 instructions were executed (75.0 %), 2 undecided, in raises; 3 have no row.
// | error `subq $8, %rsp`, at +0, 1: `subq $8, %rsp`; raises < nothing more; tried: it makes 1 of 3 instructions right; what the others need as well, testbed annotate writes
// | raises (subq $8, %rsp): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 5, and `.cfi_endproc` behind line 9 (tried: it makes 1 of 3 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | raises: 5, 3 executed, 2 never, 3 without row, some came back
// | f: 2, 1 executed, 1 forced, some came back
// | g: 1, 1 executed, all came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 3: a jump to where no code is
// | as is advised: it: 1 of 3 functions has a wrong row; 6 of 8 instructions were executed (75.0 %), 2 undecided, in raises.
// case: it calls whom it is given
// - leaq raised(%rip), %rax
// + call *%rdx
// | it: 1 of 3 functions has code without a row; 5 of 7 instructions were executed (71.4 %), 2 undecided, in raises; 2 have no row.
// | error `call *%rdx`, at +0, 1: `call *%rdx`; raises < nothing more; tried: it makes 2 instructions right and none wrong
// | raises (call *%rdx): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 5, and `.cfi_endproc` behind line 8 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | raises: 4, 2 executed, 2 never, 2 without row, some came back
// | f: 2, 1 executed, 1 forced, some came back
// | g: 1, 1 executed, all came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 3: a jump to where no code is
// | as is advised: it: every row that was executed is right; 5 of 7 instructions were executed (71.4 %), 2 undecided, in raises.

.text
.globl raises
.type raises, @function
raises:
leaq raised(%rip), %rax
movq 8(%rdi), %rsp
popq (%rdi)
ret
.size raises, .-raises
raised:
.globl f
.type f, @function
f: .cfi_startproc
call raises
ret
.cfi_endproc
.size f, .-f
.globl g
.type g, @function
g: .cfi_startproc
ret
.cfi_endproc
.size g, .-g
