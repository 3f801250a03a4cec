// Where nobody calls, and where another register than the platform's has the return address, is not called.
// ! {"runs": 40, "steps": 200}
//
// case: a start behind a mark, and a function that a return column of its own speaks of
// | it: every row that was executed is right; 1 of 8 instructions were executed (12.5 %), 4 only read, 3 undecided, in other.
// | f: 1, 1 executed, all came back
// | not called: start: 4, 4 static
// | not called: other: 3, 3 never
// | note: not called, 2 places of code (start, other): the first row there is not that of a function that someone calls
// case: undefined further on
// -         hint #34
// +         mov x0, sp
// +         mov x1, sp
// | it: 1 of 2 functions has a wrong row; 6 of 9 instructions were executed (66.7 %), 3 undecided, in other.
// | error `mov x29, #0`, at -1, 9: `.cfi_undefined x30`; start < nobody; tried: it makes 1 instruction right and none wrong
// | start+0x8 (mov x29, #0): the caller is lost: the row says x30 is undefined, as if nobody had called, and somebody did: take out `.cfi_undefined x30` in line 7 (.eh_frame; seen when it was executed)
// | error `bl f`, at -1, 9: `mov x29, #0`; start < nobody
// | start+0xc (bl f): the caller is lost: the row says x30 is undefined, as if nobody had called, and somebody did; the row says x29 is still in x29, the caller's x29 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | start: 5, 5 executed, some came back
// | f: 1, 1 executed, all came back
// | not called: other: 3, 3 never
// | note: not called, 1 place of code (other): the first row there is not that of a function that someone calls
// | as is advised: it: 1 of 2 functions has a wrong row; 6 of 9 instructions were executed (66.7 %), 3 undecided, in other.

        .text
        .globl start, other, f
        .type start, %function
start:  .cfi_startproc
        hint #34
        .cfi_undefined x30
        mov x29, #0
        bl f
        brk #1
        .cfi_endproc
        .size start, .-start
        .type other, %function
other:  .cfi_startproc
        .cfi_return_column 15
        mov x15, x30
        bl f
        ret x15
        .cfi_endproc
        .size other, .-other
        .type f, %function
f:      .cfi_startproc
        ret
        .cfi_endproc
        .size f, .-f
