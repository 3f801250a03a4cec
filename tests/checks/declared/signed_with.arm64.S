// A return address is signed with SP, and unwinders take that it was the CFA.
//
// case: signed below the frame
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `add x0, x0, #1`, at -2, 9: `hint #25`; f < no code (a return address with a signature)
// | f+0x8 (add x0, x0, #1): the caller is lost: the row says the return address is signed, and here it is not, or not with the CFA, which unwinders take; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 6, 6 executed, all came back
// case: signed before SP moves
// -         sub sp, sp, #16
// -         .cfi_def_cfa_offset 16
// -         hint #25
// -         .cfi_negate_ra_state
// +         hint #25
// +         .cfi_negate_ra_state
// +         sub sp, sp, #16
// +         .cfi_def_cfa_offset 16
// -         hint #29
// -         .cfi_negate_ra_state
// -         add sp, sp, #16
// -         .cfi_def_cfa_offset 0
// +         add sp, sp, #16
// +         .cfi_def_cfa_offset 0
// +         hint #29
// +         .cfi_negate_ra_state
// | it: every row is right; all 6 instructions were executed.
// | f: 6, 6 executed, all came back
// case: stripped for who asks for the address, as GCC does, and signed where it lies
// -         sub sp, sp, #16
// -         .cfi_def_cfa_offset 16
// -         hint #25
// -         .cfi_negate_ra_state
// +         hint #25
// +         .cfi_negate_ra_state
// +         str x30, [sp, #-16]!
// +         .cfi_def_cfa_offset 16
// +         .cfi_offset x30, -16
// +         hint #7
// +         mov x0, x30
// -         hint #29
// -         .cfi_negate_ra_state
// -         add sp, sp, #16
// -         .cfi_def_cfa_offset 0
// +         ldr x30, [sp], #16
// +         .cfi_restore x30
// +         .cfi_def_cfa_offset 0
// +         hint #29
// +         .cfi_negate_ra_state
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        sub sp, sp, #16
        .cfi_def_cfa_offset 16
        hint #25
        .cfi_negate_ra_state
        add x0, x0, #1
        hint #29
        .cfi_negate_ra_state
        add sp, sp, #16
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size f, .-f
