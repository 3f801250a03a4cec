// Nobody calls a mark behind code, which does nothing, nor a signal's frame whose CFA is computed, from its first
// instruction on: wine's `raise_func_trampoline`.
//
// case: as it is
// | it: every row that was executed is right; 2 of 8 instructions were executed (25.0 %), 6 undecided, in trampoline and f_end.
// | f: 2, 2 executed, all came back
// | not called: trampoline: 5, 5 never
// | not called: f_end: 1, 1 never
// | note: not called, 2 places of code (trampoline, f_end): what stands there is no function that someone calls
// case: no signal's frame
// -         .cfi_signal_frame
// | it: 1 of 2 functions has a wrong row; 7 of 8 instructions were executed (87.5 %), 1 undecided, in f_end.
// | error `blr     x2`, at -4, 9: `str x3, [sp, 0x10]`; trampoline < caller < no code (a word that lies elsewhere)
// | trampoline+0xc (blr x2): the caller is found, and who called it is lost: the row says CFA = what an expression computes, the true CFA is sp+0x20 here; no correction is given: directives were found, but written into the source they do not give right rows (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | trampoline: 5, 5 executed, some came back
// | f: 2, 2 executed, all came back
// | not called: f_end: 1, 1 never
// | note: not called, 1 place of code (f_end): what stands there is no function that someone calls
// case: the mark returns
// - f_end:  nop
// + f_end:  ret
// | it: 1 of 2 functions has code without a row; 3 of 8 instructions were executed (37.5 %), 5 undecided, in trampoline; 1 has no row.
// | error `f_end:  ret`, at +0, 9: `ret`; f_end < nothing more; tried: it makes 1 instruction right and none wrong
// | f_end (ret): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 29, and `.cfi_endproc` behind line 29 (.eh_frame; seen when it was executed)
// | f: 2, 2 executed, all came back
// | f_end: 1, 1 executed, 1 without row, all came back
// | not called: trampoline: 5, 5 never
// | note: not called, 1 place of code (trampoline): what stands there is no function that someone calls
// | as is advised: it: every row that was executed is right; 3 of 8 instructions were executed (37.5 %), 5 undecided, in trampoline.

        .text
        .globl  trampoline
        .type   trampoline, %function
trampoline: .cfi_startproc
        .cfi_signal_frame
        stp     x29, x30, [sp, #-0x20]!
        .cfi_def_cfa_offset 32
        .cfi_offset 29, -32
        .cfi_offset 30, -24
        mov     x29, sp
        .cfi_def_cfa_register 29
        str     x3, [sp, 0x10]
        .cfi_escape 0x0f, 0x03, 0x8d, 0x10, 0x06
        .cfi_escape 0x10, 0x1d, 0x02, 0x8d, 0x00
        .cfi_escape 0x10, 0x1e, 0x02, 0x8d, 0x08
        blr     x2
        brk     #1
        .cfi_endproc
        .size   trampoline, .-trampoline
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        mov     x0, #1
        ret
        .cfi_endproc
        .size   f, .-f
        .globl  f_end
        .type   f_end, %function
f_end:  nop
        .size   f_end, .-f_end
