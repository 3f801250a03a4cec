// Where nobody calls is not called, also if a mark stands before.
// ! {"runs": 40, "steps": 200}
//
// case: a start behind a mark
// | it: every row that was executed is right; 1 of 5 instructions were executed (20.0 %), 4 only read.
// | f: 1, 1 executed, all came back
// | not called: start: 4, 4 static
// | note: not called, 1 place of code (start): what stands there is no function that someone calls
// case: undefined further on
// -         hint #34
// +         mov x0, sp
// +         mov x1, sp
// | it: 1 of 2 functions has a wrong row; all 6 instructions were executed.
// | error `mov x29, #0`, at -1, 9: `.cfi_undefined x30`; start < nobody; tried: it makes 1 instruction right and none wrong
// | start+0x8 (mov x29, #0): the caller is lost: the row says x30 is undefined, as if nobody had called, and somebody did: take out `.cfi_undefined x30` in line 7 (.eh_frame; seen when it was executed)
// | error `bl f`, at -1, 9: `mov x29, #0`; start < nobody
// | start+0xc (bl f): the caller is lost: the row says x30 is undefined, as if nobody had called, and somebody did; the row says x29 is still in x29, the caller's x29 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | start: 5, 5 executed, some came back
// | f: 1, 1 executed, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 6 instructions were executed.

        .text
        .globl start, f
        .type start, %function
start:  .cfi_startproc
        hint #34
        .cfi_undefined x30
        mov x29, #0
        bl f
        brk #1
        .cfi_endproc
        .size start, .-start
        .type f, %function
f:      .cfi_startproc
        ret
        .cfi_endproc
        .size f, .-f
