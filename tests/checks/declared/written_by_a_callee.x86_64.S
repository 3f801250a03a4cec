// What a function saved is written over by one that it calls, from made-up values, and its caller holds the register too:
// the whole path comes back.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 7 of 12 instructions were executed (58.3 %), 5 only read.
// | outer: 4, 2 executed, 2 static, all came back
// | inner: 6, 3 executed, 3 static, some came back
// | fills: 2, 2 executed, all came back

 .text
 .globl outer
 .type outer, @function
outer:
 .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16 // outer
 call inner
 popq %rbx
 .cfi_def_cfa_offset 8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size outer, . - outer

 .globl inner
 .type inner, @function
inner:
 .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16
 movq %rsp, %rsi
 call fills
 nop
 popq %rbx
 .cfi_def_cfa_offset 8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size inner, . - inner

 .globl fills
 .type fills, @function
fills:
 .cfi_startproc
 movq %rdi, (%rsi)
 ret
 .cfi_endproc
 .size fills, . - fills
