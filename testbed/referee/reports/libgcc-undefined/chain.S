	.globl	outer
	.type outer, @function
outer:	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	call	middle
	ud2
	.cfi_endproc
	.size	outer, . - outer
	.globl middle
	.type middle, @function
middle:	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	call	cut
	ud2
	.cfi_endproc
	.size	middle, . - middle
	.globl cut
	.type cut, @function
cut:	.cfi_startproc
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	(%rbp), %rbp		# as longjmp does
	.cfi_undefined rbp
	call	walk
	ud2
	.cfi_endproc
	.size	cut, . - cut
	.section .note.GNU-stack
