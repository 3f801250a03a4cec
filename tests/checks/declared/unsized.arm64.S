// A function of which nobody says how long it is ends with its section: what the linker adds stands behind that.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row is right; all 3 instructions were executed.
// | f: 2, 2 executed, all came back
// | g: 1, 1 executed, all came back

        .text
        .globl f, g
        .type f, %function
        .type g, %function
f:      .cfi_startproc
        cbz x0, g
        ret
g:      b other
        .cfi_endproc
