// Who is called keeps registers that a call need not preserve, by a contract of the two: an answer knows nothing of it,
// and what is only read neither.
//
// case: as it is
// | it: every row that was executed is right; 3 of 8 instructions were executed (37.5 %), 5 undecided, in f.
// | f: 8, 3 executed, 5 never, some came back
// | note: 5 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: the copy is told of another register
// -         .cfi_register x30, x17
// +         .cfi_register x30, x16
// | it: 1 of 1 function has a wrong row; 7 of 8 instructions were executed (87.5 %), 1 undecided, in f.
// | error `str x2, [x3]`, at -1, 9: `.cfi_register x30, x16`; f < no code (what is in x16); tried: it makes 1 instruction right and none wrong
// | f+0x8 (str x2, [x3]): the caller is lost: the row says x30 is in x16, x30 still has the caller's value: take out `.cfi_register x30, x16` in line 8 (.eh_frame; seen when it was executed)
// | error `bl memcpy`, at -1, 9: `str x2, [x3]`; f < no code (what is in x16); tried: it makes 4 instructions right and none wrong
// | f+0xc (bl memcpy): the caller is lost: the row says x30 is in x16, the caller's x30 is in x17: add `.cfi_register x30, x17` behind line 9 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 8, 7 executed, 1 never, some came back
// | note: 1 instruction is undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row that was executed is right; 3 of 8 instructions were executed (37.5 %), 5 undecided, in f.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        mov x16, x3
        .cfi_register x3, x16
        mov x17, x30
        .cfi_register x30, x17
        str x2, [x3]
        bl memcpy
        mov x0, #0
        str xzr, [x16]
        mov x30, x17
        .cfi_same_value x30
        ret
        .cfi_endproc
        .size f, .-f
