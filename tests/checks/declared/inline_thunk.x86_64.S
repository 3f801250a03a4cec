// GCC's thunk in a function with a frame.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right; 12 of 14 instructions were executed (85.7 %), 2 only read.
// | f: 12, 10 executed, 2 static, all came back
// | other: 2, 2 executed, all came back
// case: a wrong offset
// -  .cfi_def_cfa %rsp, 8
// +  .cfi_def_cfa %rsp, 16
// | it: 1 of 2 functions has a wrong row; 12 of 14 instructions were executed (85.7 %), 2 undecided, in f.
// | error `ret`, at -1, 2: `.cfi_def_cfa %rsp, 16`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x21 (ret): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: write `.cfi_def_cfa %rsp, 8` for `.cfi_def_cfa %rsp, 16` in line 19 (.eh_frame; seen when it was executed)
// | f: 12, 10 executed, 2 never, all came back
// | other: 2, 2 executed, all came back
// | as is advised: it: every row that was executed is right; 12 of 14 instructions were executed (85.7 %), 2 only read.

.text
.globl f
.type f, @function
f: .cfi_startproc
 pushq %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 leaq other(%rip), %rax
 jmp 4f
2: call 3f
1: pause
 jmp 1b
3: movq %rax, (%rsp)
 ret
4: call 2b
 popq %rbp
 .cfi_def_cfa %rsp, 8
 ret
.cfi_endproc
.size f, . - f
.type other, @function
other: .cfi_startproc
 movl $1, %eax
 ret
.cfi_endproc
