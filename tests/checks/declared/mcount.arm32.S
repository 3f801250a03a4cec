// A profiler's call gives back the return address and its word: glibc's `__gnu_mcount_nc` takes the word off the
// stack that its caller pushed, also on a forced path.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; 9 of 10 instructions were executed (90.0 %), 1 undecided, in leaf.
// | error `bl        __gnu_mcount_nc`, at -1, 9: `push {lr}`; leaf < what is in lr; tried: it makes 1 instruction right and none wrong
// | leaf+0xc (bl __gnu_mcount_nc): the caller is lost: the row says lr is still in lr, the caller's lr is at CFA-8: add `.cfi_offset lr, -8` behind line 12, and `.cfi_restore lr` behind line 13 (.eh_frame; seen when it was executed)
// | leaf: 10, 9 executed, 1 never, all came back
// | note: 1 instruction is undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: thumb
// -         .arm
// +         .thumb
// | it: 1 of 1 function has a wrong row; 9 of 10 instructions were executed (90.0 %), 1 undecided, in leaf.
// | error `bl        __gnu_mcount_nc`, at -1, 9: `push {lr}`; leaf < what is in lr; tried: it makes 1 instruction right and none wrong
// | leaf+0x6 (bl __gnu_mcount_nc): the caller is lost: the row says lr is still in lr, the caller's lr is at CFA-8: add `.cfi_offset lr, -8` behind line 12, and `.cfi_restore lr` behind line 13 (.eh_frame; seen when it was executed)
// | leaf: 10, 9 executed, 1 never, all came back
// | note: 1 instruction is undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row is right; all 10 instructions were executed.

        .syntax unified
        .arm
        .text
        .globl        leaf
        .type        leaf, %function
leaf:        .cfi_startproc
        push        {r7}
        .cfi_def_cfa_offset 4
        .cfi_offset r7, -4
        mov        r7, sp
        .cfi_def_cfa_register r7
        push        {lr}
        bl        __gnu_mcount_nc
        cmp        r0, #7
        bne        1f
        adds        r0, r0, #1
1:        mov        sp, r7
        .cfi_def_cfa_register sp
        pop        {r7}
        .cfi_def_cfa_offset 0
        .cfi_restore r7
        bx        lr
        .cfi_endproc
        .size        leaf, . - leaf
