// A row that is right on one path and wrong on a forced one counts as right, and a note says which branch was turned.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: a branch that no run takes leads to where the frame is smaller
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 11 executed, 2 forced, all came back
// | note: .eh_frame: 2 instructions count as right, though wrong on a forced path: f+0x15 (control was turned at f+0xf) and 1 more

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbp
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbp, 0
 movq %rsp, %rbp
 movl $1, %eax
 subq $24, %rsp
 .cfi_adjust_cfa_offset 24
 testl %eax, %eax
 je 4f
 addq $24, %rsp
 .cfi_adjust_cfa_offset -24
3: nop
 movq %rbp, %rsp
 popq %rbp
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbp
 ret
4: .cfi_def_cfa_offset 40
 .cfi_offset %rbp, -16
 nop
 jmp 3b
 .cfi_endproc
 .size f, . - f
