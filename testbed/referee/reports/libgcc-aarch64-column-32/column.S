	.globl	tramp
	.type	tramp, %function
tramp:	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column 32
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset 32, -8
	bl	walk
	ldp	x29, x30, [sp], 16
	ret
	.cfi_endproc
	.size	tramp, . - tramp
	.section .note.GNU-stack
