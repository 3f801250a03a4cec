// An author who says by how much the offset changes and counts slots from SP, in hexadecimal, without indentation.
// ! {"runs": 20, "steps": 100}
//
// case: a push that is not told
// - 	pushq	%r12
// - .cfi_adjust_cfa_offset	0x8
// - .cfi_rel_offset	r12,0x0
// + 	pushq	%r12
// case: a number
// - .cfi_adjust_cfa_offset	0x20
// + .cfi_adjust_cfa_offset	0x28
// case: room that is not told
// - .cfi_adjust_cfa_offset	0x20
// case: room that is told too late
// - .cfi_adjust_cfa_offset	0x20
// - 	movq	%rsi, (%rsp)
// + 	movq	%rsi, (%rsp)
// + .cfi_adjust_cfa_offset	0x20
// case: room that is told too early
// - 	subq	$32, %rsp
// - .cfi_adjust_cfa_offset	0x20
// + .cfi_adjust_cfa_offset	0x20
// + 	subq	$32, %rsp
// case: what is given back is not told
// - .cfi_adjust_cfa_offset	-0x20
// case: another slot
// - .cfi_rel_offset	r12,0x0
// + .cfi_rel_offset	r12,0x8

	.text
	.globl	kept
	.type	kept, @function
kept:
.cfi_startproc
	pushq	%rbx
.cfi_adjust_cfa_offset	0x8
.cfi_rel_offset	rbx,0x0
	pushq	%r12
.cfi_adjust_cfa_offset	0x8
.cfi_rel_offset	r12,0x0
	movq	%rsi, %rbx
	movq	%rdi, %r12
	subq	$32, %rsp
.cfi_adjust_cfa_offset	0x20
	movq	%rsi, (%rsp)
	movq	(%rsp), %rax
	addq	%r12, %rax
	addq	$32, %rsp
.cfi_adjust_cfa_offset	-0x20
	popq	%r12
.cfi_adjust_cfa_offset	-0x8
.cfi_restore	r12
	popq	%rbx
.cfi_adjust_cfa_offset	-0x8
.cfi_restore	rbx
	ret
.cfi_endproc
	.size	kept, .-kept
