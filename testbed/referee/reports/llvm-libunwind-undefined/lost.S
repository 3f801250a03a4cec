	.globl	lost
lost:	.cfi_startproc
	.cfi_undefined rbx
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	$7, %ebx
	call	walk
	ud2
	.cfi_endproc
	.section .note.GNU-stack
