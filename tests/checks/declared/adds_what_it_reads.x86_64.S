// OpenSSL's `__ecp_nistz256_add_tox`: memory that is made up holds no zeros, by whose addition a copy would be a save.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row is right but those of 1 function with a contract of its own; all 12 instructions were executed.
// | note `movq %r12, %rax`, at -1, 1: `addq (%rbx), %r12`; helper < caller (%r12 wrong) < main
// | helper+0x3 (movq %r12, %rax): only a contract of its own loses r12: each caller has saved it: the row says %r12 is still in %r12, the caller's %r12 is in no one place at all 4 visits (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | helper: 5, 5 executed, some came back
// case: it gives the register back
// - subq $-1, %r12
// - cmovcq %rax, %r12
// + movq %r11, %r12
// - addq (%rbx), %r12
// + movq %r12, %r11
// + addq (%rbx), %r12
// | it: 1 of 2 functions has a wrong row; all 12 instructions were executed.
// | warning `movq %r12, %rax`, at -1, 1: `addq (%rbx), %r12`; helper < caller (%r12 wrong) < main; tried: it makes 2 instructions right and none wrong
// | helper+0x6 (movq %r12, %rax): %r12 is shown wrong in the caller: the row says %r12 is still in %r12, the caller's %r12 is in %r11: add `.cfi_register %r12, %r11` behind line 25 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | helper: 5, 5 executed, some came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: the caller has not told its save
// - .cfi_offset %r12, -24
// | it: 1 of 2 functions has a wrong row; all 12 instructions were executed.
// | warning `popq %r12`, at -3, 1: `.cfi_adjust_cfa_offset 8`; f < caller (%r12 wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0xd (popq %r12): %r12 is shown wrong in the caller: the row says %r12 is still in %r12, the caller's %r12 is at CFA-24: add `.cfi_offset %r12, -24` behind line 9 (.eh_frame; seen when it was executed)
// | note `movq %r12, %rax`, at -1, 1: `addq (%rbx), %r12`; helper < caller (%r12 wrong) < main
// | helper+0x3 (movq %r12, %rax): only a contract of its own loses r12: each caller has saved it: the row says %r12 is still in %r12, the caller's %r12 is in no one place at all 4 visits (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | helper: 5, 5 executed, some came back
// | as is advised: it: every row is right but those of 1 function with a contract of its own; all 12 instructions were executed.

.text
.globl f
.type f, @function
f: .cfi_startproc
pushq %rbx
.cfi_adjust_cfa_offset 8
.cfi_offset %rbx, -16
pushq %r12
.cfi_adjust_cfa_offset 8
.cfi_offset %r12, -24
movl $0x70000008, %ebx
call helper
popq %r12
.cfi_adjust_cfa_offset -8
.cfi_restore %r12
popq %rbx
.cfi_adjust_cfa_offset -8
ret
.cfi_endproc
.size f, . - f

.type helper, @function
helper: .cfi_startproc
addq (%rbx), %r12
movq %r12, %rax
subq $-1, %r12
cmovcq %rax, %r12
ret
.cfi_endproc
.size helper, . - helper
