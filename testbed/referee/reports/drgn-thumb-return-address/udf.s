	.syntax unified
	.thumb
	.globl _start
	.thumb_func
_start: .cfi_startproc
	.cfi_undefined lr
	bl work
	.cfi_endproc
	.thumb_func
work:	.cfi_startproc
	push {r7, lr}
	.cfi_def_cfa_offset 8
	.cfi_offset r7, -8
	.cfi_offset lr, -4
	bl finish
	.cfi_endproc
	.thumb_func
finish:	.cfi_startproc
	udf #0
	.cfi_endproc
	.cfi_sections .debug_frame
