// What lies behind an exit is not entered: `f` is called from the front only. The return after its frame is
// taken down has the frame's row still, which is what is wrong with it.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 2 functions has a wrong row; all 8 instructions were executed.
// | error `ret`, at -1, 9: `add sp, sp, #32`; f < caller < no code (the word at CFA+272); tried: it makes 1 instruction right and none wrong
// | f+0x10 (ret): the caller is found, and who called it is lost: the row says CFA = sp+32, the true CFA is sp+0 here: add `.cfi_def_cfa_offset 0` behind line 17 (.eh_frame; seen when it was executed)
// | stops: 3, 3 executed, some came back
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

        .text
        .globl stops, f
        .type stops, %function
stops:  .cfi_startproc
        sub sp, sp, #32
        .cfi_def_cfa_offset 32
        mov x8, #94
        svc #0
        .cfi_endproc
        .size stops, .-stops
        .type f, %function
f:      .cfi_startproc
        nop
        sub sp, sp, #32
        .cfi_def_cfa_offset 32
        nop
        add sp, sp, #32
        ret
        .cfi_endproc
        .size f, .-f
