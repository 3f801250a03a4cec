// The last instruction calls an import that does not come back, which nobody can know. The next function has a
// frame. What fills up a function is no instruction of it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | ends: 3, 3 executed, some came back
// | next: 4, 4 executed, all came back
// case: filled up
// -         bl gives_up
// +         bl gives_up
// +         nop
// | it: every row is right; all 7 instructions were executed.
// | ends: 3, 3 executed, some came back
// | next: 4, 4 executed, all came back

        .text
        .globl ends
        .type ends, %function
ends:   .cfi_startproc
        stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl other
        bl gives_up
        .cfi_endproc
        .size ends, .-ends
        .globl next
        .type next, %function
next:   .cfi_startproc
        stp x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl other
        ldp x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size next, .-next
