// The CFA counts from a register that calls may change, over a call of another file's function: the answer to it leaves
// the register as it was, and that proves nothing.
//
// case: behind the call, too
// | it: 1 of 1 function has a wrong row; 3 of 5 instructions were executed (60.0 %), 2 only read.
// | error `movq    (%rsp), %rsp`, at -1, 9: `call other@PLT`; f < no code (a word that lies elsewhere); tried: it makes 1 instruction right and none wrong
// | f+0xa (movq (%rsp), %rsp): the caller is lost: the row says CFA = %r10+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa %rsp, 16` behind line 7 (.eh_frame; only read: it follows from the instructions before it)
// | f: 5, 3 executed, 2 static, all came back
// | as is advised: it: 1 of 1 function has a wrong row; 4 of 5 instructions were executed (80.0 %), 1 only read.
// case: till the call only
// -         call    other@PLT
// +         call    other@PLT
// +         .cfi_def_cfa %rsp, 16
// | it: 1 of 1 function has a wrong row; 4 of 5 instructions were executed (80.0 %), 1 only read.
// | error `call    other@PLT`, no place
// | f+0x5 (call other@plt): the row says CFA = r10+0x8, r10 is another value, not the caller's; no correction is given: nobody executed it, and the instructions alone do not say what is true there (.eh_frame; only read: it follows from the instructions before it)
// | f: 5, 4 executed, 1 static, all came back
// case: a saved register in one that the testbed does not record
// -         movq    %rsp, %r10
// -         .cfi_def_cfa_register %r10
// -         pushq   %r10
// +         movq    %rbx, %xmm0
// +         .cfi_register %rbx, %xmm0
// +         pushq   %r10
// +         .cfi_adjust_cfa_offset 8
// -         movq    (%rsp), %rsp
// -         .cfi_def_cfa %rsp, 8
// +         popq    %r10
// +         .cfi_def_cfa %rsp, 8
// | it: every row that was executed is right; 1 of 5 instructions were executed (20.0 %), 4 undecided, in f.
// | f: 5, 1 executed, 4 never, all came back
// | note: 4 instructions are undecided, though executed: what was seen there proves no row right or wrong

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    %rsp, %r10
        .cfi_def_cfa_register %r10
        pushq   %r10
        call    other@PLT
        movq    (%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size f, .-f
