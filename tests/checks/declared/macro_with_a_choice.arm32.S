// A macro of the assembler's that chooses something further down: what stands before the choice is its own, and corrected
// there.
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 4, 4 executed, all came back
// | g: 5, 5 executed, all came back
// case: an offset that was copied
// -  .cfi_def_cfa_offset 4*4
// +  .cfi_def_cfa_offset 4*2
// | it: 2 of 2 functions have a wrong row; all 9 instructions were executed.
// | error `enter 0`, at +0, 2: `enter 0` in enter, -16; f < no code (another lr at other visits); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x4 (mov r4, r0): the caller is lost: the row says CFA = sp+8, the true CFA is sp+16 here; the row says lr is at CFA+4, lr still has the caller's value; the row says r4 is at CFA-8, r4 still has the caller's value; the row says r5 is at CFA-4, r5 still has the caller's value; the row says r6 is at CFA+0, r6 still has the caller's value: write `.cfi_def_cfa_offset 16` for `.cfi_def_cfa_offset 4*2` in line 5 (in enter, used in lines 21 and 28) (.eh_frame; seen when it was executed; 6 more instructions in 1 more function by the same cause)
// | f: 4, 4 executed, all came back
// | g: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

 .syntax unified
 .arm
 .macro enter wide
 push {r4, r5, r6, lr}
 .cfi_def_cfa_offset 4*4
 .cfi_rel_offset r4, 0
 .cfi_rel_offset r5, 4
 .cfi_rel_offset r6, 8
 .cfi_rel_offset lr, 12
 mov r4, r0
 .if \wide
 mov r5, r1
 .endif
 mov r6, r2
 .endm
 .text
 .globl f, g
 .type f, %function
f:
 .cfi_startproc
 enter 0
 pop {r4, r5, r6, pc}
 .cfi_endproc
 .size f, . - f
 .type g, %function
g:
 .cfi_startproc
 enter 1
 pop {r4, r5, r6, pc}
 .cfi_endproc
 .size g, . - g
