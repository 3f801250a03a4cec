// The caller's register is in one that a call behind may change: that is no place to tell of. Without a call it is.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `call    g@PLT`, at -1, 9: `xorl %ebx, %ebx`; f < caller (%rbx wrong) < main
// | f+0x5 (call g@PLT): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in %r10; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 5, 5 executed, all came back
// case: nobody is called
// -         call    g@PLT
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | warning `movq    %r10, %rbx`, at -1, 9: `xorl %ebx, %ebx`; f < caller (%rbx wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x5 (movq %r10, %rbx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in %r10: add `.cfi_register %rbx, %r10` behind line 6 (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        movq    %rbx, %r10
        xorl    %ebx, %ebx
        call    g@PLT
        movq    %r10, %rbx
        ret
        .cfi_endproc
        .size   f, .-f
