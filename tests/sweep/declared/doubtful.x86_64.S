// What looks wrong and is never executed, or cannot be told.
//
// case: a jump to where the code ends
// | 1 of 1 agree
// case: a store over the only copy of a register
// - nop // store
// + movq    %rsi, (%rsp)
// | 0 of 1 agree
// | cannot tell: a register: whether it is where the row says is not known
// | f+0x8 (row of f+0x1): the row says rbx is at CFA-0x10; there is something that is not known, coming from f+0x4
// case: a frame pointer of zero says that this is a thread's first function
// - nop // store
// + xorl    %ebp, %ebp
// | 0 of 1 agree
// | cannot tell: a register: whether it is where the row says is not known
// | f+0x6 (row of f+0x1): the row says rbp is unchanged; there is something that is not known, coming from f+0x4
// case: a register behind an expression counts by the last distance
// - nop // store
// + .cfi_escape 0x0f, 0x02, 0x77, 0x10
// + .cfi_def_cfa_register %rsp
// + nop
// | 1 of 1 agree
// case: an offset behind an expression is passed over
// - nop // store
// + .cfi_escape 0x0f, 0x02, 0x77, 0x10
// + .cfi_adjust_cfa_offset 24
// + nop
// + .cfi_def_cfa %rsp, 16
// | 1 of 1 agree
// case: a first row that is no function's, and nothing leads there
// - f:      .cfi_startproc
// + f:      .cfi_startproc
// + .cfi_offset %r12, -64
// | 0 of 1 agree
// | cannot tell: its first row is that of a part of a function, and nothing leads to it so
// | f+0x0: its first row is that of a part of a function, and nothing leads to it so

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
nop // store
        cmpq    $3, %rsi
        ja      .Lend
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
.Lend:
        .cfi_endproc
        .size f, .-f
