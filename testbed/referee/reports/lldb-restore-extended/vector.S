	.globl	_start
	.type	_start, %function
_start:	.cfi_startproc
	.cfi_undefined x30
	fmov	d8, #1.0
	bl	work
	brk	#0
	.cfi_endproc
	.size	_start, . - _start

	.type	work, %function
work:	.cfi_startproc
	str	d8, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 72, -16
	fmov	d8, #2.0
	ldr	d8, [sp]
	.cfi_restore 72
	str	xzr, [sp]
	nop
	ldr	xzr, [sp], #16
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	work, . - work
