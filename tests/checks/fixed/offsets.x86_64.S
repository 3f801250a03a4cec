// An author who says offsets, in decimal, behind each instruction. Each damage comes back as he wrote it.
// ! {"runs": 20, "steps": 100}
//
// case: a number
// - 	.cfi_def_cfa_offset 24
// + 	.cfi_def_cfa_offset 32
// case: another register
// - 	.cfi_offset %rbp, -24
// + 	.cfi_offset %r12, -24
// case: a save that is not told
// - 	.cfi_offset %rbx, -16
// case: two directives that are not told
// - 	.cfi_def_cfa_offset 24
// - 	.cfi_offset %rbp, -24
// case: one that stands too late
// - 	.cfi_def_cfa_offset 24
// - 	.cfi_offset %rbp, -24
// - 	xorl	%eax, %eax
// + 	.cfi_offset %rbp, -24
// + 	xorl	%eax, %eax
// + 	.cfi_def_cfa_offset 24
// case: one that stands too early
// - 	pushq	%rbp
// - 	.cfi_def_cfa_offset 24
// + 	.cfi_def_cfa_offset 24
// + 	pushq	%rbp
// case: a register whose value another one has
// - 	.cfi_register %r12, %r11
// case: mistakes in two functions
// - 	.cfi_offset %rbp, -24
// - 	xorl	%eax, %eax
// + 	xorl	%eax, %eax
// - 	.cfi_register %r12, %r11
// + 	.cfi_register %r12, %r10
// case: two mistakes
// - 	.cfi_def_cfa_offset 16
// - 	.cfi_offset %rbx, -16
// + 	.cfi_def_cfa_offset 16
// + 	.cfi_offset %rbx, -8-16
// - 2:	popq	%rbp
// - 	.cfi_def_cfa_offset 16
// + 2:	popq	%rbp

	.text
	.globl	sum
	.type	sum, @function
sum:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	xorl	%eax, %eax
	testq	%rsi, %rsi
	jle	2f
	movq	%rdi, %rbx
	leaq	(%rdi,%rsi,8), %rbp
1:	addq	(%rbx), %rax
	addq	$8, %rbx
	cmpq	%rbp, %rbx
	jb	1b
2:	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	sum, . - sum
	.globl	swaps
	.type	swaps, @function
swaps:
	.cfi_startproc
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset %r12, -16
	movq	%rdi, %r12
	movq	(%rsp), %r11
	movq	%rsi, (%rsp)
	.cfi_register %r12, %r11
	addq	(%rsp), %r12
	movq	%r12, %rax
	movq	%r11, %r12
	.cfi_restore %r12
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	swaps, . - swaps
