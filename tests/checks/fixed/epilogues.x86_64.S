// Authors who take a frame back by another register than SP, as OpenSSL's and Libgcrypt's do: what they say there.
// ! {"runs": 20, "steps": 100}
//
// case: SP too early
// - 	leaq	24(%rsi), %rsp
// - 	.cfi_def_cfa	%rsp, 8
// + 	.cfi_def_cfa	%rsp, 8
// + 	leaq	24(%rsi), %rsp
// case: another register
// - 	.cfi_def_cfa	%rsi, 32
// + 	.cfi_def_cfa	%r15, 32
// case: its return is another's
// - 	movq	8(%rsi), %rbp
// - 	.cfi_restore	%rbp
// + 	movq	8(%rsi), %rbp
// + 	.cfi_restore	%r12
// case: another register below SP
// - 	.cfi_def_cfa	%r11, 16
// + 	.cfi_def_cfa	%r15, 16
// case: SP for another too early
// - 	movq	$0, (%rsp)
// - 	leaq	8(%r11), %rsp
// - 	.cfi_def_cfa	%rsp, 8
// + 	.cfi_def_cfa	%rsp, 8
// + 	movq	$0, (%rsp)
// + 	leaq	8(%r11), %rsp
// case: a slot is another's
// - 	.cfi_rel_offset	%rbp, 0
// + 	.cfi_rel_offset	%r14, 0
// case: a frame pointer told behind what moves SP
// - 	.cfi_def_cfa_register	%rbp
// - 	subq	$64, %rsp
// - 	movq	%rdi, (%rsp)
// + 	subq	$64, %rsp
// + 	movq	%rdi, (%rsp)
// + 	.cfi_def_cfa_register	%rbp
// case: a return is not told
// - 	.cfi_restore	%rbp
// case: of returns in one place one is not told
// - 	.cfi_restore	%r13
// case: of returns in one place one is told twice
// - 	.cfi_restore	%r13
// + 	.cfi_restore	%r14
// case: of slots in one place one is told of another register
// - 	.cfi_offset	%r13, -24
// + 	.cfi_offset	%r14, -24

	.text
	.globl	three
	.type	three, @function
three:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset	16
	.cfi_offset	%rbx, -16
	pushq	%rbp
	.cfi_def_cfa_offset	24
	.cfi_offset	%rbp, -24
	pushq	%r12
	.cfi_def_cfa_offset	32
	.cfi_offset	%r12, -32
	subq	$32, %rsp
	.cfi_def_cfa_offset	64
	movq	%rdi, %rbx
	movq	%rdi, %rbp
	movq	%rdi, %r12
	leaq	32(%rsp), %rsi
	.cfi_def_cfa	%rsi, 32
	movq	(%rsi), %r12
	.cfi_restore	%r12
	movq	8(%rsi), %rbp
	.cfi_restore	%rbp
	movq	16(%rsi), %rbx
	.cfi_restore	%rbx
	leaq	24(%rsi), %rsp
	.cfi_def_cfa	%rsp, 8
	movq	%rax, -16(%rsp)
	ret
	.cfi_endproc
	.size	three, .-three

	.globl	room
	.type	room, @function
room:
	.cfi_startproc
	leaq	-8(%rsp), %r11
	.cfi_def_cfa	%r11, 16
	subq	$64, %rsp
	movq	%rdi, (%rsp)
	movq	(%rsp), %rax
	movq	$0, (%rsp)
	leaq	8(%r11), %rsp
	.cfi_def_cfa	%rsp, 8
	ret
	.cfi_endproc
	.size	room, .-room

	.globl	leaves
	.type	leaves, @function
leaves:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset	8
	.cfi_rel_offset	%rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register	%rbp
	subq	$64, %rsp
	movq	%rdi, (%rsp)
	leave
	.cfi_adjust_cfa_offset	-8
	.cfi_def_cfa_register	%rsp
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	leaves, .-leaves

	.globl	groups
	.type	groups, @function
groups:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset	48
	movq	%r13, 24(%rsp)
	movq	%r14, 16(%rsp)
	movq	%r15, 8(%rsp)
	.cfi_offset	%r13, -24
	.cfi_offset	%r14, -32
	.cfi_offset	%r15, -40
	movq	%rdi, %r13
	movq	%rdi, %r14
	movq	%rdi, %r15
	movq	24(%rsp), %r13
	movq	16(%rsp), %r14
	movq	8(%rsp), %r15
	.cfi_restore	%r14
	.cfi_restore	%r15
	.cfi_restore	%r13
	addq	$40, %rsp
	.cfi_def_cfa_offset	8
	movq	%rax, -16(%rsp)
	movq	%rax, -24(%rsp)
	ret
	.cfi_endproc
	.size	groups, .-groups
