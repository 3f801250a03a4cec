// Instructions that are written as data, at both ends of functions: an assembler gives them no lines of their own.
//
// case: what is said before the last one is left out
// - .cfi_adjust_cfa_offset	-16
// case: another number before the last one
// - .cfi_adjust_cfa_offset	-16
// + .cfi_adjust_cfa_offset	-24
// case: what is said behind two of them is another number
// - .cfi_adjust_cfa_offset	16
// + .cfi_adjust_cfa_offset	24

	.text
	.globl	add
	.type	add, @function
	.align	32
add :
.cfi_startproc
	.byte	0xf3,0x0f,0x1e,0xfa

	pushq	%rbx
.cfi_adjust_cfa_offset	8
.cfi_offset	%rbx,-16
	movq	%rdi,%rbx
	leaq	(%rbx,%rsi),%rax
	popq	%rbx
.cfi_adjust_cfa_offset	-8
.cfi_restore	%rbx
	.byte	0xf3,0xc3
.cfi_endproc
	.size	add, .-add

	.globl	sub
	.type	sub, @function
sub :
.cfi_startproc
	.byte	0xf3,0x0f,0x1e,0xfa
	.byte	0x48,0x83,0xec,0x10	# subq $16,%rsp
.cfi_adjust_cfa_offset	16
	pushq	%rbx
.cfi_adjust_cfa_offset	8
.cfi_offset	%rbx,-32
	movq	%rdi,%rbx
	leaq	(%rbx,%rsi),%rax
	popq	%rbx
.cfi_adjust_cfa_offset	-8
.cfi_restore	%rbx
	addq	$16,%rsp
.cfi_adjust_cfa_offset	-16
	.byte	0xf3,0xc3
.cfi_endproc
	.size	sub, .-sub
