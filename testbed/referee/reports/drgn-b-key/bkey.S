	.globl	_start
	.type	_start, %function
_start:	.cfi_startproc
	.cfi_undefined x30
	bl	work
	.cfi_endproc
	.size	_start, . - _start
	.type	work, %function
work:	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	udf	#0
	.cfi_endproc
	.size	work, . - work
	.ifdef SIGNED
other:	.cfi_startproc
	.cfi_b_key_frame
	ret
	.cfi_endproc
	.endif
