// A register is saved at a place in a rounded frame: how far that is from the CFA depends on where the caller's SP is.
//
// case: no directive says it
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | warning `leaq    (%rbx, %rsi), %rax`, at -1, 9: `movq %rdi, %rbx`; f < caller (%rbx wrong) < main
// | f+0x1a (leaq (%rbx, %rsi), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 8 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// case: it is seen at one SP only
// -         movq    %rbx, 192(%rsp)
// -         movq    %rdi, %rbx
// +         cmpq    $1, %rdi
// +         jne     1f
// +         movq    %rbx, 192(%rsp)
// +         movq    %rdi, %rbx
// -         movq    192(%rsp), %rbx
// -         leave
// +         movq    192(%rsp), %rbx
// + 1:      leave
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `leaq    (%rbx, %rsi), %rax`, at -1, 9: `movq %rdi, %rbx`; f < caller (%rbx wrong) < main
// | f+0x20 (leaq (%rbx, %rsi), %rax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-128; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $256, %rsp
        andq    $-64, %rsp
        movq    %rbx, 192(%rsp)
        movq    %rdi, %rbx
        leaq    (%rbx, %rsi), %rax
        movq    192(%rsp), %rbx
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size f, .-f
