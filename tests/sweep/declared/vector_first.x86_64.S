// A function that no emulator without AVX-512 gets into.
//
// case: as it is
// | 1 of 1 agree
// case: its save is not told
// - .cfi_offset %rbx, -16
// + nop
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0xc (row of f+0x9): the row says rbx is unchanged; there is the caller's rdi, coming from f+0x9
// case: a push is told too early
// -         vmovdqu64 (%rdi), %zmm0
// -         pushq   %rbx
// -         .cfi_adjust_cfa_offset 8
// +         vmovdqu64 (%rdi), %zmm0
// +         .cfi_adjust_cfa_offset 8
// +         pushq   %rbx
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x6 (row of f+0x6): the row says CFA = rsp+0x10; rsp is CFA-0x8, coming from f+0x0
// case: two restores are swapped
// -         popq    %rbp
// -         .cfi_adjust_cfa_offset -8
// -         .cfi_restore %rbp
// +         .cfi_restore %rbx
// +         popq    %rbp
// +         .cfi_adjust_cfa_offset -8
// +         .cfi_restore %rbp
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x14 (row of f+0x14): the row says rbx is unchanged; there is the caller's rdi, coming from f+0xe

        .globl f
        .type f, @function
f:      .cfi_startproc
        vmovdqu64 (%rdi), %zmm0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
.cfi_offset %rbx, -16
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -24
        movq    %rdi, %rbx
        movq    %rsi, %rbp
        vmovdqu64 %zmm0, (%rsi)
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
