// A pointer that is given beside the arguments, to the frame around a nested function: what it points to is read
// and written.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 4 instructions were executed.
// | f: 4, 4 executed, all came back
// case: where a result belongs
// -         ldr     x0, [x18]
// -         str     x0, [x18]
// +         ldr     x0, [x8]
// +         str     x0, [x8]
// | it: every row is right; all 4 instructions were executed.
// | f: 4, 4 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        ldr     x0, [x18]
        str     x0, [x18]
        mov     x0, #0
        ret
        .cfi_endproc
        .size f, .-f
