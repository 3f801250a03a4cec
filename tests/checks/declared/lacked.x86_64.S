// Instructions that the emulator lacks, or takes for others, are passed over where they change no register of a row's.
//
// case: right
//
// | it: every row is right; all 12 instructions were executed, 7 of them passed over.
// | f: 12, 12 executed, all came back
// case: a save is not told
// -  .cfi_offset %rbx, -16
//
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed, 7 of them passed over.
// | warning `kmovw %k5, %eax`, at -6, 2: `.cfi_adjust_cfa_offset 8`; f < caller (%rbx wrong) < main; tried: it makes 5 instructions right and none wrong
// | f+0x19 (kmovw %k5, %eax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 7 (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed, 7 of them passed over.
// case: what no run gives back is read
// -  kmovw %k5, %eax
// +  kmovw %k5, %ebx
// | it: every row that was executed is right; 6 of 12 instructions were executed (50.0 %), 4 of them passed over, 6 only read.
// | f: 12, 6 executed, 6 static, some came back

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 pushq %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_offset %rbx, -16
 vpbroadcastd %edi, %zmm4
 kxnorw %k5, %k5, %k5
 kxnorw %k4, %k4, %k4
 vmovdqu64 %zmm4, -64(%rsp){%k4}
 movl %edi, %ebx
 kmovw %k5, %eax
 vpcmov %xmm1, %xmm2, %xmm3, %xmm4
 vfmadd213sd %xmm0, %xmm1, %xmm2
 leal (%rax, %rbx), %eax
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
