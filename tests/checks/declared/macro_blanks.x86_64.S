// Blanks part the arguments of an assembler's macro, too; where an operator stands they part none.
//
// case: no slot is told
// -         .cfi_rel_offset \reg, 0
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | warning `mov     %rdi, %r12`, at -3, 9: `save %rbx 4 + 4` in save, -14; f < caller (%rbx and %r12 wrong) < main; tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x6 (mov %rdi, %r12): %rbx and %r12 are shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_rel_offset \reg, 0` behind line 3 (in save, used in lines 17 and 18) (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

        .macro save reg, size
        push    \reg
        .cfi_adjust_cfa_offset \size
        .cfi_rel_offset \reg, 0
        .endm
        .macro drop reg size, rest:vararg
        pop     \reg
        .cfi_adjust_cfa_offset \size
        .cfi_restore \reg
        .irp each, \rest
        mov     \each, %eax
        .endr
        .endm
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        save    %rbx 4 + 4
        save    %r12, 8
        mov     %rdi, %rbx
        mov     %rdi, %r12
        drop    %r12, -8 %ecx, %edx
        drop    %rbx, -4 - 4
        ret
        .cfi_endproc
        .size   f, .-f
