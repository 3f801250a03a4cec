	.globl	_start
	.type	_start, %function
_start:	mov	x29, #0
	mov	x20, #7
	bl	work
	brk	#0
	.size	_start, . - _start
	.type	work, %function
work:	stp	x29, x30, [sp, #-16]!
	mov	x29, sp
	sub	sp, sp, #16
	bl	leaf
again:	mov	x20, #0x44
	nop
	add	sp, sp, #16
	ldp	x29, x30, [sp], #16
	ret
	.type	leaf, %function
leaf:	ret
	.size	leaf, . - leaf
