// Without `.cfi_offset` of the link register: right up to the call, wrong behind it. What is called is another
// file's, so it may never come back; that the row is right then is what the instructions deny.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `bl elsewhere`, at -1, 9: `.cfi_def_cfa_offset 16`; f < what is in x30; tried: it makes 3 instructions right and none wrong
// | f+0x4 (bl elsewhere): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-16: add `.cfi_offset x30, -16` behind line 6, and `.cfi_restore x30` behind line 10 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: on a forced path
// -         .cfi_def_cfa_offset 16
// +         .cfi_def_cfa_offset 16
// +         eor x1, x0, x0
// +         cbz x1, 1f
// | it: 1 of 1 function has a wrong row; 5 of 7 instructions were executed (71.4 %), 2 only read.
// | error `add x0, x0, #1`, at -4, 9: `.cfi_def_cfa_offset 16`; f < what is in x30; tried: it makes 2 instructions right and none wrong
// | f+0x10 (add x0, x0, #1): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-16: add `.cfi_offset x30, -16` behind line 6, and `.cfi_restore x30` behind line 12 (.eh_frame; only read: it follows from the instructions before it; 1 more instruction by the same cause)
// | f: 7, 5 executed, 2 static, all came back
// | note: .eh_frame: 1 instruction counts as right, though wrong on a forced path: f+0x14 (control was turned at f+0x8)
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: on some paths only
// -         .cfi_def_cfa_offset 16
// +         .cfi_def_cfa_offset 16
// +         tbz x0, #0, 1f
// -         add x0, x0, #1
// - 1:      ldr x30, [sp], #16
// + 1:      add x0, x0, #1
// +         ldr x30, [sp], #16
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `bl elsewhere`, at -2, 9: `.cfi_def_cfa_offset 16`; f < what is in x30; tried: it makes 3 instructions right and none wrong
// | f+0x8 (bl elsewhere): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-16: add `.cfi_offset x30, -16` behind line 6, and `.cfi_restore x30` behind line 11 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        str x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        bl elsewhere
        add x0, x0, #1
1:      ldr x30, [sp], #16
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size f, .-f
