	.globl	f
f:	.cfi_startproc
	.cfi_b_key_frame
	pacibsp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.globl	g
g:	.cfi_startproc
	ret
	.cfi_endproc
