// What lies behind an exit is not entered: `f` is called from the front only. The return after its frame is
// taken down has the frame's row still, which is what is wrong with it.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 2 functions has a wrong row; all 8 instructions were executed.
// | error `ret`, at -1, 9: `add $24, %rsp`; f < no code (the word at CFA+16); tried: it makes 1 instruction right and none wrong
// | f+0xa (ret): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+8 here: add `.cfi_def_cfa_offset 8` behind line 17 (.eh_frame; seen when it was executed)
// | stops: 3, 3 executed, some came back
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

        .text
        .globl stops, f
        .type stops, @function
stops:  .cfi_startproc
        sub $24, %rsp
        .cfi_def_cfa_offset 32
        mov $231, %eax
        syscall
        .cfi_endproc
        .size stops, .-stops
        .type f, @function
f:      .cfi_startproc
        nop
        sub $24, %rsp
        .cfi_def_cfa_offset 32
        nop
        add $24, %rsp
        ret
        .cfi_endproc
        .size f, .-f
