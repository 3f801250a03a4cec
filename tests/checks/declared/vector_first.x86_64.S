// What the emulator cannot execute is read: its first instruction is one that no emulator here has.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: nothing was executed, so no row is known to be right; 0 of 7 instructions were executed (0 %), 7 only read.
// | f: 7, 7 static, some came back
// case: a save that no row tells of
// -         .cfi_offset %rbx, -16
// | it: 1 of 1 function has a wrong row; 0 of 7 instructions were executed (0 %), 7 only read.
// | warning `call    g@PLT`, at -2, 9: `.cfi_def_cfa_offset 16`; f < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0xa (call g@PLT): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 7 (.eh_frame; only read: it follows from the instructions before it; 2 more instructions by the same cause)
// | f: 7, 7 static, some came back
// | as is advised: it: nothing was executed, so no row is known to be right; 0 of 7 instructions were executed (0 %), 7 only read.
// case: a push that is told too early
// -         pushq   %rbx
// -         .cfi_def_cfa_offset 16
// +         .cfi_def_cfa_offset 16
// +         pushq   %rbx
// | it: 1 of 1 function has a wrong row; 0 of 7 instructions were executed (0 %), 7 only read.
// | error `pushq   %rbx`, at -1, 9: `.cfi_def_cfa_offset 16`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x6 (pushq %rbx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: move `.cfi_def_cfa_offset 16` from line 6 behind line 7 (.eh_frame; only read: it follows from the instructions before it)
// | f: 7, 7 static, some came back
// | as is advised: it: nothing was executed, so no row is known to be right; 0 of 7 instructions were executed (0 %), 7 only read.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        vpxord  %zmm0, %zmm0, %zmm0
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        call    g@PLT
        leaq    (%rbx, %rax), %rax
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
