// What the emulator cannot execute is read: its first instruction is one that no emulator here has.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed, 1 of them passed over.
// | f: 7, 7 executed, all came back
// case: a save that no row tells of
// -         .cfi_offset %rbx, -16
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed, 1 of them passed over.
// | warning `call    g@PLT`, at -2, 9: `.cfi_def_cfa_offset 16`; f < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0xa (call g@PLT): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 7, and `.cfi_restore %rbx` behind line 12 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed, 1 of them passed over.
// case: a push that is told too early
// -         pushq   %rbx
// -         .cfi_def_cfa_offset 16
// +         .cfi_def_cfa_offset 16
// +         pushq   %rbx
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed, 1 of them passed over.
// | error `pushq   %rbx`, at -1, 9: `.cfi_def_cfa_offset 16`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x6 (pushq %rbx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: move `.cfi_def_cfa_offset 16` from line 6 behind line 7 (.eh_frame; seen when it was executed)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed, 1 of them passed over.

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
