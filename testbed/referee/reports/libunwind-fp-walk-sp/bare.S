	.globl	bare
	.type	bare, @function
bare:	push	%rbp
	mov	%rsp, %rbp
	call	walk
	pop	%rbp
	ret
	.size	bare, .-bare

	.globl	main
	.type	main, @function
main:	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	sub	$16, %rsp
	movq	$0, (%rsp)
	call	bare
	xor	%eax, %eax
	leave
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	main, .-main
	.section .note.GNU-stack
