// A way back that two functions jump to, with their frame.
// ! {"runs": 20, "steps": 60}
//
// case: as it is
// | it: every row that was executed is right; 2 of 3 instructions were executed (66.7 %), 1 undecided, in back.
// | f: 2, 2 executed, all came back
// | not called: back: 1, 1 never
// | note: not called, 1 place of code (back): what stands there is no function that someone calls

        .syntax unified
        .arm
        .cfi_sections .debug_frame
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        mov     r0, #1
        bx      lr
        .cfi_endproc
        .size   f, .-f
        .type   back, %function
back:   .cfi_startproc
        .cfi_rel_offset sp, 0
        .cfi_rel_offset lr, 4
        ldm     sp, {sp, pc}
        .cfi_endproc
        .size   back, .-back
