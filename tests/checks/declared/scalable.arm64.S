// What SVE does to SP the emulator lacks, and nobody tells: nothing behind it is called right or wrong.
//
// case: a frame of vectors
// ! {"flags": ["-march=armv8-a+sve"]}
// | it: every row that was executed is right; 5 of 9 instructions were executed (55.6 %), 2 of them passed over, 4 undecided, in f.
// | f: 9, 5 executed, 4 never, some came back

 .text
 .globl f
 .type f, %function
f:
 .cfi_startproc
 stp x29, x30, [sp, #-16]!
 .cfi_def_cfa_offset 16
 .cfi_offset x29, -16
 .cfi_offset x30, -8
 mov x29, sp
 .cfi_def_cfa_register x29
 ptrue p0.d
 ld1d {z0.d}, p0/z, [x0]
 addvl sp, sp, #-1
 bl g
 addvl sp, sp, #1
 ldp x29, x30, [sp], #16
 .cfi_def_cfa sp, 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_endproc
 .size f, . - f
