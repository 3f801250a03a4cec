	.globl	main
main:	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	lea	compare(%rip), %rbx	# as in a caller that keeps a function's address
	call	work
	xor	%eax, %eax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc

compare:
	.cfi_startproc
	nop
	ret
	.cfi_endproc

work:	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
inside:	int3
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.section .note.GNU-stack
