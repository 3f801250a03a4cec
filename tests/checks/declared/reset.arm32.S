// Where a processor begins: no caller is in lr, which gets a number that ends the stack for who reads it.
//
// case: as it is
// | it: every row is right but those of 1 function for another entry than a call; all 7 instructions were executed.
// | note `mov lr, r4`, at -1, 9: `mvn r4, #0`
// | f+0x4 (mov lr, r4): the row says lr is still in lr, and it is overwritten, saved nowhere: nobody calls this code, as where a processor begins (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 7, 7 executed, some came back
// case: it does not overwrite who called it
// -         mvn r4, #0
// -         mov lr, r4
// +         nop
// +         nop
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `bl first`, at -1, 9: `nop`; f < what is in lr
// | f+0x8 (bl first): the caller is lost: the row says lr is still in lr, the caller's lr is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | error `bl main_of`, at -2, 9: `push {lr}`; f < no code (the caller's r4); tried: it makes 2 instructions right and none wrong
// | f+0x14 (bl main_of): the caller is lost: the row says CFA = sp+0, the true CFA is sp+4 here: add `.cfi_def_cfa_offset 4` behind line 10 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, some came back
// | as is advised: it: 1 of 1 function has a wrong row; 5 of 7 instructions were executed (71.4 %), 2 undecided, in f.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        mvn r4, #0
        mov lr, r4
        bl first
        mov lr, r4
        .cfi_def_cfa sp, 0
        push {lr}
        .cfi_offset lr, 0
        bl main_of
        udf #0
        .cfi_endproc
        .size f, .-f
