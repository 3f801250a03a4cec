	.globl	bare
	.type	bare, @function
bare:	push	%rbp
	mov	%rsp, %rbp
	call	walk
	pop	%rbp
	ret
	.size	bare, .-bare
	.section .note.GNU-stack
