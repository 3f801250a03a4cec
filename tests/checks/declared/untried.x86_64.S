// All instructions are executed, and no run leaves by the branch that passes over the push.
//
// case: as it is
// | it: every row is right, but on 1 way that no run took; all 12 instructions were executed.
// | f: 12, 12 executed, some came back
// | note: .eh_frame: no run came to f+0x1c from f+0x5; by the instructions the row is wrong there: rbx is at CFA-0x10, and there is a value of its own; --call can try it
// case: the branch's way has a row of its own
// -         .cfi_def_cfa_offset 8
// +         .cfi_def_cfa_offset 8
// +         .cfi_restore %rbx
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, some came back

        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xorl    %eax, %eax
        testq   %rsi, %rsi
        jz      2f
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
1:      movq    (%rdi), %rbx
        cmpq    %rax, %rbx
        cmovaq  %rbx, %rax
        addq    $8, %rdi
        decq    %rsi
        jnz     1b
        popq    %rbx
        .cfi_def_cfa_offset 8
2:      ret
        .cfi_endproc
        .size   f, .-f
