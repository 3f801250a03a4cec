// What lies behind an exit is not entered: `f` is called from the front only. The return after its frame is
// taken down has the frame's row still, which is what is wrong with it.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 2 of 2 functions have a wrong row; all 8 instructions were executed.
// | error `svc #0`, at -1, 9: `mov r7, #248`; stops < caller < no code (a word that lies elsewhere)
// | stops+0x8 (svc #0): the caller, which counts from r7, is found, and who called it is lost: the row says r7 is still in r7, the caller's r7 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.debug_frame; seen when it was executed)
// | error `bx lr`, at -1, 9: `add sp, sp, #16`; f < caller < no code (the word at CFA+200); tried: it makes 1 instruction right and none wrong
// | f+0x10 (bx lr): the caller is found, and who called it is lost: the row says CFA = sp+16, the true CFA is sp+0 here: add `.cfi_def_cfa_offset 0` behind line 18 (.debug_frame; seen when it was executed)
// | stops: 3, 3 executed, some came back
// | f: 5, 5 executed, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 8 instructions were executed.

        .cfi_sections .debug_frame
        .text
        .globl stops, f
        .type stops, %function
stops:  .cfi_startproc
        sub sp, sp, #16
        .cfi_def_cfa_offset 16
        mov r7, #248
        svc #0
        .cfi_endproc
        .size stops, .-stops
        .type f, %function
f:      .cfi_startproc
        nop
        sub sp, sp, #16
        .cfi_def_cfa_offset 16
        nop
        add sp, sp, #16
        bx lr
        .cfi_endproc
        .size f, .-f
