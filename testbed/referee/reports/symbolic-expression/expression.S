	.globl	f
	.type	f, @function
f:	.cfi_startproc
	# rbx is in the word at CFA - 16, said as an expression: DW_CFA_expression rbx, DW_OP_lit16; DW_OP_minus
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_escape 0x10, 3, 2, 0x40, 0x1c
	nop
	pop	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	f, . - f
