// A callee-saved register that is changed in some bits, or under a condition: no run has to see it.
//
// case: a bit that was so before
// | it: 1 of 1 function has a wrong row; all 3 instructions were executed.
// | warning `ret`, at -1, 9: `btrq $62, %rbx`; f < caller (%rbx wrong) < main
// | f+0x9 (ret): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | f: 3, 3 executed, some came back
// case: the other way round
// -         btrq $62, %rbx
// +         btsq $62, %rbx
// | it: 1 of 1 function has a wrong row; all 3 instructions were executed.
// | warning `ret`, at -1, 9: `btsq $62, %rbx`; f < caller (%rbx wrong) < main
// | f+0x9 (ret): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | f: 3, 3 executed, some came back
// case: a move under a condition
// -         btrq $62, %rbx
// +         cmpq $0x1234, %rsi
// +         cmoveq %rdi, %rbx
// | it: every row is right, but on 1 way that no run took; all 4 instructions were executed.
// | f: 4, 4 executed, all came back
// | note: .eh_frame: no run has changed rbx at f, which the instructions write, perhaps under a condition; --call can try it
// case: several of them are told once, and each counts
// -         btrq $62, %rbx
// +         cmpq $0x1234, %rsi
// +         cmoveq %rdi, %rbx
// +         cmoveq %rdi, %rbp
// +         cmoveq %rdi, %r12
// +         cmoveq %rdi, %r13
// +         cmoveq %rdi, %r14
// | it: every row is right, but on 5 ways that no run took; all 8 instructions were executed.
// | f: 8, 8 executed, all came back
// | note: .eh_frame: no run has changed rbx at f, rbp at f, r12 at f and 2 more, which the instructions write, perhaps under a condition; --call can try it
// case: changed and given back by the same instruction
// -         btrq $62, %rbx
// +         notq %rbx
// +         notq %rbx
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | warning `notq %rbx`, at -1, 9: `notq %rbx`; f < caller (%rbx wrong) < main
// | f+0x7 (notq %rbx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        leaq 1(%rdi), %rax
        btrq $62, %rbx
        ret
        .cfi_endproc
        .size f, .-f
