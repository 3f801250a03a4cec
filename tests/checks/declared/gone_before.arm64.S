// Who never came back from his last call on one path is not at work when another path jumps to what stands behind it.
//
// case: right
// | it: every row is right; all 11 instructions were executed.
// | gone: 2, 2 executed, some came back
// | behind: 1, 1 executed, all came back
// | outer: 2, 2 executed, some came back
// | calls: 4, 4 executed, all came back
// | stub: 2, 2 executed, all came back

 .text
 .globl gone
 .type gone, %function
gone:
 .cfi_startproc
 stp x29, x30, [sp, #-16]!
 .cfi_def_cfa_offset 16
 .cfi_offset x29, -16
 .cfi_offset x30, -8
 bl exit
 .cfi_endproc
 .size gone, . - gone
 .globl behind
 .type behind, %function
behind:
 .cfi_startproc
 b malloc
 .cfi_endproc
 .size behind, . - behind
 .globl outer
 .type outer, %function
outer:
 .cfi_startproc
 stp x29, x30, [sp, #-32]!
 .cfi_def_cfa_offset 32
 .cfi_offset x29, -32
 .cfi_offset x30, -24
 bl gone
 .cfi_endproc
 .size outer, . - outer
 .globl calls
 .type calls, %function
calls:
 .cfi_startproc
 stp x29, x30, [sp, #-48]!
 .cfi_def_cfa_offset 48
 .cfi_offset x29, -48
 .cfi_offset x30, -40
 bl stub
 ldp x29, x30, [sp], #48
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_endproc
 .size calls, . - calls
 .globl stub
 .type stub, %function
stub:
 .cfi_startproc
 adr x16, behind
 br x16
 .cfi_endproc
 .size stub, . - stub
