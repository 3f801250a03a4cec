// The base of a fiber, which somebody resumes by a switch of stacks: an expression gives the CFA, from the first row on.
//
// case: it never comes back
// | it: every row that was executed is right but those of 1 function for another entry than a call; 3 of 4 instructions were executed (75.0 %), 1 undecided, in f.
// | note `mov %r12, %rdi`, at +0, 2: `mov %r12, %rdi`
// | f (mov %r12, %rdi): the row says %rip is at CFA-0x8, and by its CFA, which is computed, no row is right: it supposes another entry, as by a switch of stacks (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | note `mov %r12, %rdi`, at -5, 2: `.cfi_def_cfa_offset 0`
// | f (mov rdi, r12): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 0 (.eh_frame; seen when the table was read; 3 more instructions by the same cause)
// | f: 4, 3 executed, 1 never, some came back
// case: it comes back
// -  call *%rbx
// -  ud2
// +  ret
// | it: 1 of 1 function has a wrong row; all 3 instructions were executed.
// | error `mov %r12, %rdi`, at -1, 2: `.cfi_offset %rbx, -24`; f < caller < no code (a word that lies elsewhere); tried: it makes 3 instructions right and none wrong
// | f (mov %r12, %rdi): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbx is at CFA-0x18, %rbx still has the caller's value; the row says %rbp is at CFA-0x10, %rbp still has the caller's value: take out `.cfi_offset %rbp, -16` in line 9, and `.cfi_offset %rbx, -24` in line 10 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | note `mov %r12, %rdi`, at -5, 2: `.cfi_def_cfa_offset 0`
// | f (mov rdi, r12): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 0 (.eh_frame; seen when the table was read; 2 more instructions by the same cause)
// | f: 3, 3 executed, all came back
// | as is advised: it: nothing was compared, so no row is known to be right; 0 of 3 instructions were executed (0 %), 3 undecided, in f.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc simple
 .cfi_def_cfa_offset 0
 .cfi_escape 0x0f, 4, 0x57, 0x06, 0x23, 0x18
 .cfi_offset %rip, -8
 .cfi_offset %rbp, -16
 .cfi_offset %rbx, -24
 mov %r12, %rdi
 mov %rbp, %rsi
 call *%rbx
 ud2
 .cfi_endproc
 .size f, . - f
