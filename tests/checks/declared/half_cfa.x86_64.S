// Half of a CFA behind one by an expression has no meaning: it is noted where it stands, and all other rows are judged.
// ! {"runs": 40, "steps": 200}
//
// case: the expression is right
// | it: every row is right; all 12 instructions were executed.
// | note `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`
// | f+0x9 (nop): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 32 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `leaq (%rbx,%rbx), %rax`, at -1, 2: `.cfi_adjust_cfa_offset -8`
// | f+0xb (lea rax, [rbx + rbx]): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 24 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back
// case: what stands before it is wrong
// -  .cfi_adjust_cfa_offset 8 // rbx
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `pushq %rbp`, at -1, 2: `.cfi_rel_offset %rbx, 0`; f < no code (the caller's %rbx); tried: it makes 10 instructions right and none wrong
// | f+0x1 (pushq %rbp): the caller is lost: the row says CFA = %rsp+0x8, the true CFA is %rsp+0x10 here; the row says %rbx is at CFA-0x8, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 6 (.eh_frame; seen when it was executed; 9 more instructions by the same cause)
// | note `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`
// | f+0x9 (nop): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 24 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `leaq (%rbx,%rbx), %rax`, at -1, 2: `.cfi_adjust_cfa_offset -8`
// | f+0xb (lea rax, [rbx + rbx]): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 16 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: the expression counts from rsp, and is wrong behind the push
// -  .cfi_escape 0x0f, 2, 0x76, 24 // rbp+24
// +  .cfi_escape 0x0f, 2, 0x77, 24 // rsp+24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`; f < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x9 (nop): the caller is lost: the row says CFA = what an expression computes, the true CFA is %rsp+0x20 here: write `.cfi_def_cfa %rsp, 32` for `.cfi_adjust_cfa_offset 8` in line 16 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | note `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`
// | f+0x9 (nop): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 32 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `leaq (%rbx,%rbx), %rax`, at -1, 2: `.cfi_adjust_cfa_offset -8`
// | f+0xb (lea rax, [rbx + rbx]): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 24 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a register counts by the last offset that was given
// -  .cfi_def_cfa %rsp, 16
// +  .cfi_adjust_cfa_offset -8
// +  .cfi_def_cfa_register %rsp
// | it: every row is right; all 12 instructions were executed.
// | note `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`
// | f+0x9 (nop): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 32 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `leaq (%rbx,%rbx), %rax`, at -1, 2: `.cfi_adjust_cfa_offset -8`
// | f+0xb (lea rax, [rbx + rbx]): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 24 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `popq %rbx`, at -2, 2: `.cfi_def_cfa_register %rsp`
// | f+0x10 (pop rbx): the row says CFA = rsp+0x10, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb count by the last offset behind DW_CFA_def_cfa_register rsp (.eh_frame; seen when the table was read)
// | f: 12, 12 executed, all came back
// case: a register counts by a last offset that is another one
// -  .cfi_def_cfa %rsp, 16
// +  .cfi_def_cfa_register %rsp
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `popq %rbx`, at -1, 2: `.cfi_restore %rbp`; f < no code (the word at CFA+0x0); tried: it makes 2 instructions right and none wrong
// | f+0x10 (popq %rbx): the caller is lost: the row says CFA = %rsp+0x18, the true CFA is %rsp+0x10 here: add `.cfi_adjust_cfa_offset -8` behind line 23 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | note `nop`, at -1, 2: `.cfi_adjust_cfa_offset 8`
// | f+0x9 (nop): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 32 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `leaq (%rbx,%rbx), %rax`, at -1, 2: `.cfi_adjust_cfa_offset -8`
// | f+0xb (lea rax, [rbx + rbx]): the row says CFA = what an expression computes, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb pass over DW_CFA_def_cfa_offset 24 (.eh_frame; seen when the table was read; 1 more instruction by the same cause)
// | note `popq %rbx`, at -2, 2: `.cfi_def_cfa_register %rsp`
// | f+0x10 (pop rbx): the row says CFA = rsp+0x18, and half of a CFA has no meaning without the other (DWARF 5, section 6.4.2.2): libgcc and gdb count by the last offset behind DW_CFA_def_cfa_register rsp (.eh_frame; seen when the table was read)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx
 .cfi_adjust_cfa_offset 8 // rbx
 .cfi_rel_offset %rbx, 0
 pushq %rbp
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbp, 0
 movq %rsp, %rbp
 movl %edi, %ebx
 .cfi_escape 0x0f, 2, 0x76, 24 // rbp+24
 nop
 pushq %rbx
 .cfi_adjust_cfa_offset 8
 nop
 popq %rbx
 .cfi_adjust_cfa_offset -8
 leaq (%rbx,%rbx), %rax
 popq %rbp
 .cfi_def_cfa %rsp, 16
 .cfi_restore %rbp
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
