// libffi's `ffi_call_unix64`: the return address goes to where the caller made room, and the CFA counts from
// there.
//
// case: as it is
// | it: every row that was executed is right; 11 of 16 instructions were executed (68.8 %), 5 undecided, in moves.
// | calls: 7, 7 executed, all came back
// | moves: 9, 4 executed, 5 never, some came back
// | note: 5 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | dropped 4: came back with another SP, or with callee-saved registers lost
// case: a row that counts from nowhere
// -         leaq 16(%rbp), %rsp
// +         leaq 16(%rbp), %rsp
// +         .cfi_def_cfa %rsp, 24
// | it: 1 of 2 functions has a wrong row; 12 of 16 instructions were executed (75.0 %), 4 undecided, in moves.
// | error `popq %rbp`, at -1, 9: `.cfi_def_cfa %rsp, 24`; moves < no code (the word at CFA+48); tried: it makes 1 instruction right and none wrong
// | moves+0x17 (popq %rbp): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp-32 here; the row says %rbp is at CFA-16, the caller's %rbp is at CFA+32: write `.cfi_def_cfa %rsp, -32` and `.cfi_offset %rbp, 32` for `.cfi_def_cfa %rsp, 24` in line 29 (.eh_frame; seen when it was executed)
// | calls: 7, 7 executed, all came back
// | moves: 9, 5 executed, 4 never, some came back
// | note: 4 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | dropped 4: came back with another SP, or with callee-saved registers lost
// | as is advised: it: every row that was executed is right; 12 of 16 instructions were executed (75.0 %), 4 undecided, in moves.

        .text
        .globl calls
        .type calls, @function
calls:  .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq $96, %rsp
        leaq 16(%rsp), %rdi
        call moves
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size calls, .-calls
        .type moves, @function
moves:  .cfi_startproc
        movq (%rsp), %r10
        movq %r10, 24(%rdi)
        movq %rbp, 16(%rdi)
        movq %rdi, %rbp
        .cfi_def_cfa %rbp, 32
        .cfi_offset %rbp, -16
        movq %rdi, %rsp
        nop
        leaq 16(%rbp), %rsp
        popq %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size moves, .-moves
