// A local function may lose a register for good, if each of its callers has saved it: a contract of its own.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row is right but those of 1 function with a contract of its own; all 8 instructions were executed.
// | note `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): only a contract of its own loses rbx: each caller has saved it: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | helper: 4, 4 executed, some came back
// | f: 4, 4 executed, all came back
// case: a caller has not saved it, and others call that one
// - pushq %rbx
// - .cfi_adjust_cfa_offset 8
// - .cfi_offset %rbx, -16
// - call helper
// - popq %rbx
// - .cfi_adjust_cfa_offset -8
// + call helper
// | it: 2 of 2 functions have a wrong row; all 6 instructions were executed.
// | warning `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | warning `ret`, at -1, 1: `call helper`; f < caller (%rbx wrong) < main
// | f+0x5 (ret): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | helper: 4, 4 executed, some came back
// | f: 2, 2 executed, some came back
// case: a caller has saved it, and its rows do not tell of that: this is the one mistake
// - .cfi_offset %rbx, -16
// | it: 1 of 2 functions has a wrong row; all 8 instructions were executed.
// | note `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): only a contract of its own loses rbx: each caller has saved it: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | warning `popq %rbx`, at -2, 1: `.cfi_adjust_cfa_offset 8`; f < caller (%rbx wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x6 (popq %rbx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 15, and `.cfi_restore %rbx` behind line 18 (.eh_frame; seen when it was executed)
// | helper: 4, 4 executed, some came back
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right but those of 1 function with a contract of its own; all 8 instructions were executed.
// case: so it is where no run comes to the call
// ! {"runs": 1}
// - .cfi_offset %rbx, -16
// - call helper
// + movq %rdi, %rbx
// + xorl %eax, %eax
// + jz 1f
// + call helper
// + 1:
// | it: 1 of 2 functions has a wrong row; 10 of 11 instructions were executed (90.9 %), 1 undecided, in f.
// | note `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): only a contract of its own loses rbx: each caller has saved it: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | warning `xorl %eax, %eax`, at -2, 1: `.cfi_adjust_cfa_offset 8`; f < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x4 (xorl %eax, %eax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 15, and `.cfi_restore %rbx` behind line 22 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | helper: 4, 4 executed, some came back
// | f: 7, 6 executed, 1 never, all came back
// | as is advised: it: every row that was executed is right but those of 1 function with a contract of its own; 10 of 11 instructions were executed (90.9 %), 1 only read.
// case: no run comes to its end
// - leaq (%rbx,%rbx), %rax
// + movl $100000, %eax
// + 1: decl %eax
// + jnz 1b
// | it: every row that was executed is right but those of 1 function with a contract of its own; 8 of 10 instructions were executed (80.0 %), 2 only read.
// | note `movl $100000, %eax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (movl $100000, %eax): only a contract of its own loses rbx: each caller has saved it: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | helper: 6, 4 executed, 2 static, some came back
// | f: 4, 2 executed, 2 forced, some came back
// | dropped 3: came back with another SP, or with callee-saved registers lost
// case: others can call it
// - .type helper, @function
// + .globl helper
// + .type helper, @function
// | it: 1 of 2 functions has a wrong row; all 8 instructions were executed.
// | warning `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | helper: 4, 4 executed, some came back
// | f: 4, 4 executed, all came back
// case: it gives the register back, from another register
// - movq %rdi, %rbx
// + movq %rbx, %r11
// + movq %rdi, %rbx
// - addq $1, %rax
// + addq $1, %rax
// + movq %r11, %rbx
// | it: 1 of 2 functions has a wrong row; all 10 instructions were executed.
// | warning `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | helper+0x6 (leaq (%rbx,%rbx), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in %r11: add `.cfi_register %rbx, %r11` behind line 5 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | helper: 6, 6 executed, all came back
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: the caller's CFA counts from it
// - .cfi_offset %rbx, -16
// + .cfi_offset %rbx, -16
// + movq %rsp, %rbx
// + .cfi_def_cfa_register %rbx
// | it: 2 of 2 functions have a wrong row; all 9 instructions were executed.
// | warning `leaq (%rbx,%rbx), %rax`, at -1, 1: `movq %rdi, %rbx`; helper < caller (%rbx wrong) < main
// | helper+0x3 (leaq (%rbx,%rbx), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 6 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `popq %rbx`, at -1, 1: `call helper`; f < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x9 (popq %rbx): the caller is lost: the row says CFA = %rbx+16, the true CFA is %rsp+16 here: add `.cfi_def_cfa_register %rsp` behind line 19 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | helper: 4, 4 executed, some came back
// | f: 5, 5 executed, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 9 instructions were executed.

.text
.type helper, @function
helper: .cfi_startproc
movq %rdi, %rbx
leaq (%rbx,%rbx), %rax
addq $1, %rax
ret
.cfi_endproc
.size helper, . - helper

.globl f
.type f, @function
f: .cfi_startproc
pushq %rbx
.cfi_adjust_cfa_offset 8
.cfi_offset %rbx, -16
call helper
popq %rbx
.cfi_adjust_cfa_offset -8
ret
.cfi_endproc
.size f, . - f
