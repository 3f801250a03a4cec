// A part of a function that lies elsewhere and is jumped to: its rows are judged as those of the function
// itself.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 5, 5 executed, all came back
// | not called: f.cold: 4, 4 forced
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: a wrong offset
// -         .cfi_def_cfa_offset 48
// +         .cfi_def_cfa_offset 64
// | it: 1 of 2 functions and parts has a wrong row; all 9 instructions were executed.
// | error `mov     x19, #3`, at -2, 9: `.cfi_def_cfa_offset 64`; f.cold < no code (the word at CFA-8); tried: it makes 2 instructions right and none wrong
// | f.cold+0x4 (mov x19, #3): the caller is lost: the row says CFA = sp+64, the true CFA is sp+48 here: write `.cfi_def_cfa_offset 48` for `.cfi_def_cfa_offset 64` in line 25 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 5, 5 executed, all came back
// | not called: f.cold: 4, 4 forced
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: without a row
// - f.cold: .cfi_startproc
// -         .cfi_def_cfa_offset 32
// -         .cfi_offset x29, -32
// -         .cfi_offset x30, -24
// + f.cold:
// -         str     x19, [sp, #-16]!
// -         .cfi_def_cfa_offset 48
// -         .cfi_offset x19, -48
// +         str     x19, [sp, #-16]!
// -         ldr     x19, [sp], #16
// -         .cfi_def_cfa_offset 32
// -         .cfi_restore x19
// +         ldr     x19, [sp], #16
// -         b       back
// -         .cfi_endproc
// +         b       back
// | it: 1 of 2 functions and parts has code without a row; all 9 instructions were executed; 4 have no row.
// | error `str     x19, [sp, #-16]!`, at +0, 9: `str x19, [sp, #-16]!`; f.cold < nothing more
// | f.cold (str x19, [sp, #-16]!): the caller is lost: no row covers this instruction, and its function is called; no correction is given: no directives were found that describe it (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 3 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | not called: f.cold: 4, 4 forced, 4 without row
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: nothing leads there
// -         cbz     x0, f.cold
// +         nop
// -         .cfi_def_cfa_offset 48
// +         .cfi_def_cfa_offset 64
// | it: every row that was executed is right; 5 of 9 instructions were executed (55.6 %), 4 undecided, in f.cold.
// | f: 5, 5 executed, all came back
// | not called: f.cold: 4, 4 never
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        cbz     x0, f.cold
        mov     w0, #0
back:   ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #-16]!
        .cfi_def_cfa_offset 48
        .cfi_offset x19, -48
        mov     x19, #3
        ldr     x19, [sp], #16
        .cfi_def_cfa_offset 32
        .cfi_restore x19
        b       back
        .cfi_endproc
        .size   f.cold, .-f.cold
