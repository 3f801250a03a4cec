// An instruction that the emulator takes for another, shorter one: what it executes from there on is not this code.
//
// case: AMD's vprotd, whose first byte was that of pop
// | it: every row is right; all 6 instructions were executed, 1 of them passed over.
// | f: 6, 6 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        movl    $3, %ebx
        vprotd  $14, %xmm4, %xmm5
        xorl    %eax, %eax
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
