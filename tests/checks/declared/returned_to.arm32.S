// not-perf's `nwind_ret_trampoline`: the table has no row that is a call's, and the function that tells is hidden.
//
// case: as it is
// | it: nothing was compared, so no row is known to be right; 0 of 7 instructions were executed (0 %), 7 undecided, in hook.
// | not called: hook: 7, 7 never
// | note: nobody calls hook: each run returned to what a call had answered, so no caller is known there
// | dropped 3: a jump to where no code is

        .syntax unified
        .thumb
        .text
        .global hook
        .type hook, %function
        .thumb_func
hook:   .fnstart
        push {r0, r1}
        mov r0, sp
        add r0, r0, #8
        bl tells
        mov lr, r0
        pop {r0, r1}
        bx lr
        .fnend
        .size hook, .-hook
        .hidden tells
