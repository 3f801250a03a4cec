// Frames of any size, found by a register that is no frame pointer; one register is saved that never changes.
// ! {"runs": 20, "steps": 100}
//
// case: the register that the CFA is counted from is not told
// - .cfi_def_cfa_register	%rax
// case: a save of what never changes, told too early
// - 	pushq	%r13
// - .cfi_offset	%r13,-32
// + .cfi_offset	%r13,-32
// + 	pushq	%r13
// case: a save of what never changes, told of another register
// - .cfi_offset	%r13,-32
// + .cfi_offset	%r14,-32
// case: a return that is told too early
// - 	movq	-16(%rax),%r12
// - .cfi_restore	%r12
// + .cfi_restore	%r12
// + 	movq	-16(%rax),%r12
// case: a return that is told of another register
// - .cfi_restore	%rbx
// + .cfi_restore	%r12

	.text
	.globl	room
	.type	room, @function
room:
.cfi_startproc
	movq	%rsp,%rax
.cfi_def_cfa_register	%rax
	pushq	%rbx
.cfi_offset	%rbx,-16
	pushq	%r12
.cfi_offset	%r12,-24
	pushq	%r13
.cfi_offset	%r13,-32
	andl	$15,%edi
	shlq	$4,%rdi
	subq	%rdi,%rsp
	movq	%rdi,%rbx
	movq	%rsi,%r12
	leaq	(%rbx,%r12),%rdx
	movq	-8(%rax),%rbx
.cfi_restore	%rbx
	movq	-16(%rax),%r12
.cfi_restore	%r12
	movq	-24(%rax),%r13
.cfi_restore	%r13
	movq	%rax,%rsp
.cfi_def_cfa_register	%rsp
	movq	%rdx,%rax
	ret
.cfi_endproc
	.size	room, .-room
