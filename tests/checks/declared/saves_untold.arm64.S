// Saves that nobody told the table of are one mistake, however late each of them shows.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 20 instructions were executed.
// | sums: 20, 20 executed, all came back
// case: none of eight is told
// -  .cfi_offset d8, -64
// -  .cfi_offset d9, -56
// -  .cfi_offset d10, -48
// -  .cfi_offset d11, -40
// -  .cfi_offset d12, -32
// -  .cfi_offset d13, -24
// -  .cfi_offset d14, -16
// -  .cfi_offset d15, -8
// | it: 1 of 1 function has a wrong row; all 20 instructions were executed.
// | warning `fadd d9, d1, d2`, at -5, 2: `stp d8, d9, [sp]`; sums < caller (d8, d9, d10, d11, d12, d13, d14 and d15 wrong) < main; tried: it makes 12 instructions right and none wrong
// | sums+0x18 (fadd d9, d1, d2): d8, d9, d10, d11, d12, d13, d14 and d15 are shown wrong in the caller: the row says d8 is still in d8, the caller's d8 is at CFA-64: add `.cfi_offset d8, -64` and `.cfi_offset d9, -56` behind line 7, `.cfi_offset d10, -48` and `.cfi_offset d11, -40` behind line 8, `.cfi_offset d12, -32` and `.cfi_offset d13, -24` behind line 9, `.cfi_offset d14, -16` and `.cfi_offset d15, -8` behind line 10, and `.cfi_restore d8`, `.cfi_restore d9`, `.cfi_restore d10`, `.cfi_restore d11`, `.cfi_restore d12`, `.cfi_restore d13`, `.cfi_restore d14` and `.cfi_restore d15` behind line 25 (.eh_frame; seen when it was executed; 11 more instructions by the same cause)
// | sums: 20, 20 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.
// case: two are told
// -  .cfi_offset d10, -48
// -  .cfi_offset d11, -40
// -  .cfi_offset d12, -32
// -  .cfi_offset d13, -24
// -  .cfi_offset d14, -16
// -  .cfi_offset d15, -8
// +  .cfi_offset d12, -32
// +  .cfi_offset d13, -24
// | it: 1 of 1 function has a wrong row; all 20 instructions were executed.
// | warning `fadd d11, d3, d4`, at -10, 2: `stp d10, d11, [sp, #16]`; sums < caller (d10, d11, d14 and d15 wrong) < main; tried: it makes 9 instructions right and none wrong
// | sums+0x20 (fadd d11, d3, d4): d10, d11, d14 and d15 are shown wrong in the caller: the row says d10 is still in d10, the caller's d10 is at CFA-48: add `.cfi_offset d10, -48` and `.cfi_offset d11, -40` behind line 8, and `.cfi_offset d14, -16` and `.cfi_offset d15, -8` behind line 14 (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | sums: 20, 20 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.

 .text
 .globl sums
 .type sums, %function
sums: .cfi_startproc
 sub sp, sp, #64
 .cfi_def_cfa_offset 64
 stp d8, d9, [sp]
 stp d10, d11, [sp, #16]
 stp d12, d13, [sp, #32]
 stp d14, d15, [sp, #48]
 .cfi_offset d8, -64
 .cfi_offset d9, -56
 .cfi_offset d10, -48
 .cfi_offset d11, -40
 .cfi_offset d12, -32
 .cfi_offset d13, -24
 .cfi_offset d14, -16
 .cfi_offset d15, -8
 fadd d8, d0, d1
 fadd d9, d1, d2
 fadd d10, d2, d3
 fadd d11, d3, d4
 fadd d12, d4, d5
 fadd d13, d5, d6
 fadd d14, d6, d7
 fadd d15, d8, d9
 fadd d0, d10, d11
 ldp d14, d15, [sp, #48]
 ldp d12, d13, [sp, #32]
 ldp d10, d11, [sp, #16]
 ldp d8, d9, [sp]
 add sp, sp, #64
 .cfi_def_cfa_offset 0
 ret
 .cfi_endproc
 .size sums, . - sums
