# `first` is to keep rbx; it goes on in `other`, which need not.
.intel_syntax noprefix
	.globl _start
	.type _start,@function
_start:
	.cfi_startproc
	.cfi_undefined rip
	mov rbx, 0x777
	call first
	mov eax, 60
	xor edi, edi
	syscall
	.cfi_endproc
	.size _start, .-_start
	.type first,@function
first:
	.cfi_startproc
	mov rbx, 0x29
	jmp other
	.cfi_endproc
	.size first, .-first
	.type other,@function
other:
	.cfi_startproc
	mov rbx, 0x30
	ret
	.cfi_endproc
	.size other, .-other
