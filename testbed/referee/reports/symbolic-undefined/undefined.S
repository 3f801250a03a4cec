	.globl	f
	.type	f, @function
f:	.cfi_startproc
	mov	8(%rdi), %rbx
	.cfi_undefined rbx
	nop
	ret
	.cfi_endproc
	.size	f, . - f
