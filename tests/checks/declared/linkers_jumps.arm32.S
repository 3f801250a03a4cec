// A linker's own jumps are no functions of the file.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; its instruction was executed.
// | f: 1, 1 executed, all came back
// | note: not called, 1 place of code (__ThumbV7PILongThunk_other): what stands there is no function that someone calls

        .syntax unified
        .cfi_sections .debug_frame
        .thumb
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        b other
        .cfi_endproc
        .size f, .-f
