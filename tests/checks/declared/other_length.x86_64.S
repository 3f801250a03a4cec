// An instruction that the emulator takes for another, shorter one: what it executes from there on is not this code.
//
// case: AMD's vprotd, whose first byte was that of pop
// | it: every row that was executed is right; 2 of 6 instructions were executed (33.3 %), 4 only read.
// | f: 6, 2 executed, 4 static, some came back

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
