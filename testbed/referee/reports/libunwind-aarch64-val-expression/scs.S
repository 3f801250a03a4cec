// As clang's -fsanitize=shadow-call-stack has it: x30 is pushed to x18, and x18 of the caller is x18 - 8 of this frame.
	.globl	main
	.type	main, %function
main:	.cfi_startproc
	adrp	x18, shadow
	add	x18, x18, :lo12:shadow
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	bl	outer
	brk	#0
	.cfi_endproc
	.size	main, . - main

	.macro	pushes name, callee
	.globl	\name
	.type	\name, %function
\name:	.cfi_startproc
	str	x30, [x18], #8
	.cfi_escape 0x16, 18, 2, 0x82, 0x78		// DW_CFA_val_expression x18: x18 - 8
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
	bl	\callee
	ldr	x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x30
	ldr	x30, [x18, #-8]!
	.cfi_restore 18
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	pushes	outer, middle
	pushes	middle, inner
	pushes	inner, walk

	.bss
	.balign	16
shadow:	.skip	256
	.section .note.GNU-stack
