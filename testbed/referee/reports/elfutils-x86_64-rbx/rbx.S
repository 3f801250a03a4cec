	.globl	_start
_start:	.cfi_startproc
	.cfi_undefined rip
	call	middle
	ud2
	.cfi_endproc
middle:	.cfi_startproc
	lea	8(%rsp), %rbx
	.cfi_def_cfa rbx, 0
	call	leaf
	ud2
	.cfi_endproc
leaf:	.cfi_startproc
	ud2
	.cfi_endproc
