// Every directive counts from the ones before: one that is forgotten is one finding.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, all came back
// case: the first push is not told of
// -         pushq %rbp
// -         .cfi_adjust_cfa_offset 8
// +         pushq %rbp
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `pushq %rbx`, at -1, 9: `.cfi_rel_offset %rbp, 0`; f < no code (the caller's %rbp); tried: it makes 11 instructions right and none wrong
// | f+0x1 (pushq %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbp is at CFA-8, %rbp still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 6 (.eh_frame; seen when it was executed; 10 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: the second push is not told of
// -         pushq %rbx
// -         .cfi_adjust_cfa_offset 8
// +         pushq %rbx
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `subq $24, %rsp`, at -1, 9: `.cfi_rel_offset %rbx, 0`; f < no code (the caller's %rbp); tried: it makes 10 instructions right and none wrong
// | f+0x2 (subq $24, %rsp): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+24 here; the row says %rbx is at CFA-16, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 9 (.eh_frame; seen when it was executed; 9 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: the room is not told of, which is given back
// -         .cfi_adjust_cfa_offset 24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %r12, 8(%rsp)`, at -1, 9: `subq $24, %rsp`; f < no code (the word at CFA-32); tried: it makes 9 instructions right and none wrong
// | f+0x6 (movq %r12, 8(%rsp)): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+48 here: add `.cfi_adjust_cfa_offset 24` behind line 11 (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: what gives it back is not told of
// -         popq %rbx
// -         .cfi_adjust_cfa_offset -8
// +         popq %rbx
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `popq %rbp`, at -2, 9: `popq %rbx`; f < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f+0x1f (popq %rbp): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset -8` behind line 22 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: neither the room nor its end is told of
// -         subq $24, %rsp
// -         .cfi_adjust_cfa_offset 24
// +         subq $24, %rsp
// -         .cfi_adjust_cfa_offset -24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %r12, 8(%rsp)`, at -1, 9: `subq $24, %rsp`; f < no code (the word at CFA-32); tried: it makes 6 instructions right and none wrong
// | f+0x6 (movq %r12, 8(%rsp)): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+48 here: add `.cfi_adjust_cfa_offset 24` behind line 11, and `.cfi_adjust_cfa_offset -24` behind line 19 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: two are not told of
// -         pushq %rbp
// -         .cfi_adjust_cfa_offset 8
// +         pushq %rbp
// -         .cfi_adjust_cfa_offset 24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `pushq %rbx`, at -1, 9: `.cfi_rel_offset %rbp, 0`; f < no code (the caller's %rbp); tried: it makes 10 instructions right and none wrong
// | f+0x1 (pushq %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbp is at CFA-8, %rbp still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 6 (.eh_frame; seen when it was executed; 9 more instructions by the same cause)
// | error `movq %r12, 8(%rsp)`, at -1, 9: `subq $24, %rsp`; f < no code (the word at CFA-40); tried: it makes 9 instructions right and none wrong
// | f+0x6 (movq %r12, 8(%rsp)): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+48 here: add `.cfi_adjust_cfa_offset 24` behind line 10: together with what is advised above (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: an offset that a directive says itself is no sum
// -         .cfi_adjust_cfa_offset 24
// +         .cfi_def_cfa_offset 32
// -         .cfi_rel_offset %r12, 8
// +         .cfi_offset %r12, -40
// -         .cfi_adjust_cfa_offset -24
// +         .cfi_def_cfa_offset 24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %r12, 8(%rsp)`, at -1, 9: `.cfi_def_cfa_offset 32`; f < no code (the caller's %rbx); tried: it makes 6 instructions right and none wrong
// | f+0x6 (movq %r12, 8(%rsp)): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+48 here: write `.cfi_def_cfa_offset 48` for `.cfi_def_cfa_offset 32` in line 12 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        subq $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq %r12, 8(%rsp)
        .cfi_rel_offset %r12, 8
        movq %rdi, %rbx
        movq %rsi, %r12
        leaq (%rbx,%r12), %rax
        movq 8(%rsp), %r12
        .cfi_restore %r12
        addq $24, %rsp
        .cfi_adjust_cfa_offset -24
        popq %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        popq %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size f, .-f
