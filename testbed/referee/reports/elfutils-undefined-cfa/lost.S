	.globl	_start
_start:	.cfi_startproc
	.cfi_undefined rip
	call	outer
	ud2
	.cfi_endproc
outer:	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	call	leaf
	ud2
	.cfi_endproc
leaf:	.cfi_startproc
	.cfi_undefined rbp
	xor	%ebp, %ebp
	ud2
	.cfi_endproc
