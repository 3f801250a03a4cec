// An interrupt's frame: the return address lies farther below the CFA than a call puts it. Nobody calls such code, and
// who jumps there has built the frame. `.debug_frame` has no mark of it.
//
// case: as it is
// | it: every row that was executed is right; 9 of 15 instructions were executed (60.0 %), 6 undecided, in entry and f.
// | f: 10, 9 executed, 1 never, some came back
// | not called: entry: 5, 5 never
// | note: not called, 1 place of code (entry): what stands there is no function that someone calls
// case: without the mark
// -         .cfi_signal_frame
// | it: every row that was executed is right; 9 of 15 instructions were executed (60.0 %), 6 undecided, in entry and f.
// | f: 10, 9 executed, 1 never, some came back
// | not called: entry: 5, 5 never
// | note: not called, 1 place of code (entry): what stands there is no function that someone calls
// case: who builds the frame is held to what is so
// -         subq    $0x28, %rsp
// -         .cfi_adjust_cfa_offset 0x28
// +         subq    $0x28, %rsp
// +         .cfi_adjust_cfa_offset 0x20
// | it: 1 of 1 function has a wrong row; 9 of 15 instructions were executed (60.0 %), 6 undecided, in entry and f.
// | error `movq    %rax, (%rsp)`, at -1, 9: `.cfi_adjust_cfa_offset 0x20`; f < no code (the word at CFA-0x10); tried: it makes 6 instructions right and none wrong
// | f+0xe (movq %rax, (%rsp)): the caller is lost: the row says CFA = %rsp+0x28, the true CFA is %rsp+0x30 here: write `.cfi_adjust_cfa_offset 40` for `.cfi_adjust_cfa_offset 0x20` in line 25 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 10, 9 executed, 1 never, some came back
// | not called: entry: 5, 5 never
// | note: not called, 1 place of code (entry): what stands there is no function that someone calls
// | as is advised: it: every row that was executed is right; 9 of 15 instructions were executed (60.0 %), 6 undecided, in entry and f.

        .text
        .globl entry
        .type entry, @function
entry:  .cfi_startproc simple
        .cfi_signal_frame
        .cfi_def_cfa %rsp, 40
        .cfi_offset %rip, -40
        cld
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        movq    %rsp, %rdi
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        iretq
        .cfi_endproc
        .size entry, .-entry

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    %rsp, %r11
        leaq    1f(%rip), %rax
        .cfi_remember_state
        subq    $0x28, %rsp
        .cfi_adjust_cfa_offset 0x28
        movq    %rax, (%rsp)
        movq    $0x33, 8(%rsp)
        movq    $2, 0x10(%rsp)
        movq    %r11, 0x18(%rsp)
        movq    $0x2b, 0x20(%rsp)
        jmp     entry
1:      .cfi_restore_state
        ret
        .cfi_endproc
        .size f, .-f
