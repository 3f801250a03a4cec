// The same without a symbol: its table's entry alone tells of it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 5, 5 executed, all came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// case: a wrong offset
// -         .cfi_def_cfa_offset 48
// +         .cfi_def_cfa_offset 64
// | it: 1 of 2 functions and parts has a wrong row; all 9 instructions were executed.
// | error `mov     x19, #3`, at -2, 9: `.cfi_def_cfa_offset 64`; no name < no code (the word at CFA-8); tried: it makes 2 instructions right and none wrong
// | no name+0x4 (mov x19, #3): the caller is lost: the row says CFA = sp+64, the true CFA is sp+48 here: write `.cfi_def_cfa_offset 48` for `.cfi_def_cfa_offset 64` in line 24 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 5, 5 executed, all came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// | as is advised: it: every row is right; all 9 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        cbz     x0, .Lcold
        mov     w0, #0
back:   ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
.Lcold: .cfi_startproc
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
