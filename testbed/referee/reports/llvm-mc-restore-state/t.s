f:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_remember_state
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
	push %rax
	.cfi_adjust_cfa_offset 8
	ret
	.cfi_endproc
