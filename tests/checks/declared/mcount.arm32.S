// A profiler's call gives back the return address and its word: glibc's `__gnu_mcount_nc` takes the word off the
// stack that its caller pushed, also on a forced path.
//
// case: as it is
// | it: every row is right; all 10 instructions were executed.
// | leaf: 10, 9 executed, 1 forced, all came back
// case: thumb
// -         .arm
// +         .thumb
// | it: every row is right; all 10 instructions were executed.
// | leaf: 10, 9 executed, 1 forced, all came back

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
