// A frame that who goes here has made: the rows have the return address above SP, from the first instructions on.
//
// case: it never comes back
//
// | it: every row is right but those of 1 function for another entry than a call; all 5 instructions were executed.
// | note `str x28, [sp, #224]`, at -4, 2: `add x29, sp, #232`
// | f+0x4 (str x28, [sp, #224]): the row says x30 is at CFA-16, and no call puts it there, above the frame: it supposes another entry, as by a jump (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, some came back
// case: the first rows are a function's
// -  .cfi_def_cfa x29, 24
// -  .cfi_offset x30, -16
// -  .cfi_offset x29, -24
// +  nop
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `nop`, at -1, 2: `add x29, sp, #232`; f < caller < no code (a word that lies elsewhere)
// | f+0x4 (nop): the caller, which counts from x29, is found, and who called it is lost: the row says x29 is still in x29, the caller's x29 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | error `bl stub`, at -1, 2: `mov x2, sp`; f < what is in x30
// | f+0x14 (bl stub): the caller is lost: the row says x30 is still in x30, the caller's x30 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | f: 6, 6 executed, some came back

 .text
 .globl f
 .type f, %function
f:
 .cfi_startproc
 add x29, sp, #232
 .cfi_def_cfa x29, 24
 .cfi_offset x30, -16
 .cfi_offset x29, -24
 str x28, [sp, #224]
 stp x26, x27, [sp, #208]
 mov x2, sp
 bl stub
 .cfi_endproc
 .size f, . - f
