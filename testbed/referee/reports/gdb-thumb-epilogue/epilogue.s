	.syntax unified
	.thumb
	.globl	_start
	.thumb_func
	.type	_start, %function
_start:	mov	r7, #0x44
	bl	outer
	mov	r7, #1
	svc	#0
	.size	_start, .-_start
	.thumb_func
	.type	outer, %function
outer:	push	{r7, lr}
	sub	sp, #8
	bl	work
	add	sp, #8
	pop	{r7, pc}
	.size	outer, .-outer
	.thumb_func
	.type	work, %function
work:	push	{r7, lr}
	add	r7, sp, #0
	sub	sp, #8
	add	sp, #8
	pop	{r7, pc}
	.size	work, .-work
