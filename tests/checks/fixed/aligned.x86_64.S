// A frame that is aligned, found by a register that no call preserves.
//
// case: the register that the CFA is counted from, told too early
// - 	movq	%rdi,%rdx
// - 	movq	%rsp,%r11
// - .cfi_def_cfa_register	%r11
// + .cfi_def_cfa_register	%r11
// + 	movq	%rdi,%rdx
// + 	movq	%rsp,%r11

	.text
	.globl	aligned
	.type	aligned, @function
aligned:
.cfi_startproc
	pushq	%rbx
.cfi_adjust_cfa_offset	8
.cfi_rel_offset	%rbx,0
	movq	%rdi,%rdx
	movq	%rsp,%r11
.cfi_def_cfa_register	%r11
	subq	$64,%rsp
	andq	$-32,%rsp
	movq	%rdx,%rbx
	movq	%rbx,(%rsp)
	movq	(%rsp),%rax
	movq	%r11,%rsp
.cfi_def_cfa_register	%rsp
	popq	%rbx
.cfi_adjust_cfa_offset	-8
.cfi_restore	%rbx
	addq	$1,%rax
	ret
.cfi_endproc
	.size	aligned, .-aligned
