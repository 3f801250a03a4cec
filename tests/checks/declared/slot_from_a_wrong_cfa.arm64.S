// The frame is as large as an argument says, and the row counts its CFA by a constant: only that is wrong. The slot is
// where the row finds it, at no fixed distance from the true CFA.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | error `sub sp, sp, #32`, at -3, 9: `mov x9, sp`; f < no code (the word at CFA-72); tried: it makes 1 instruction right and none wrong
// | f+0x10 (sub sp, sp, #32): the caller is lost: the row says CFA = sp+16, the true CFA is sp+80 at the first visit, and at no fixed distance: add `.cfi_def_cfa_register x9` behind line 10 (.eh_frame; seen when it was executed)
// | error `str x19, [sp, #8]`, at -1, 9: `.cfi_adjust_cfa_offset 32`; f < no code (the word at CFA-72); tried: it makes 3 instructions right and none wrong
// | f+0x14 (str x19, [sp, #8]): the caller is lost: the row says CFA = sp+48, the true CFA is sp+112 at the first visit, and at no fixed distance: take out `.cfi_adjust_cfa_offset 32` in line 14: together with what is advised above (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `mov x19, x1`, at -3, 9: `mov x29, sp`; f < no code (a word that lies elsewhere)
// | f+0x20 (mov x19, x1): the caller is lost: the row says CFA = x29+48, the true CFA is sp+112 at the first visit, and at no fixed distance; no correction is given: directives were found, but written into the source they do not give right rows (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 15, 15 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 15 instructions were executed.

        .text
        .globl f
        .type f,%function
f:
        .cfi_startproc
        stp x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x9, sp
        and x0, x0, #0x70
        sub sp, sp, x0
        sub sp, sp, #32
        .cfi_adjust_cfa_offset 32
        str x19, [sp, #8]
        str x9, [sp, #16]
        mov x29, sp
        .cfi_def_cfa_register x29
        .cfi_rel_offset x19, 8
        mov x19, x1
        add x19, x19, #1
        ldr x19, [x29, #8]
        .cfi_restore x19
        ldr x9, [x29, #16]
        mov sp, x9
        ldp x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f,.-f
