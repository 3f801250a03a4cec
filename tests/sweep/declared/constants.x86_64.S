// Constants behind the return, inside of the function's entry: nothing could lead there, and no row begins there.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x1a: code that nothing is known to lead to, and in which no row begins: perhaps data
// case: a row that begins there shows that it is code
// -         .quad   0xfedcba9876543210
// +         pushq   %rbx
// +         .cfi_def_cfa_offset 16
// +         pushq   %rbp
// +         popq    %rbp
// +         popq    %rbx
// +         ret
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x1a (row of f+0x19): the row says CFA = rsp+0x10; rsp is CFA-0x18, coming from f+0x19

        .globl f
        .type f, @function
f:      .cfi_startproc
        leaq    words(%rip), %rax
        movq    (%rax,%rdi), %rax
        ret
        .p2align 4
words:  .quad   0x0123456789abcdef
        .quad   0xfedcba9876543210
        .quad   0x428a2f98d728ae22
        .cfi_endproc
        .size f, .-f
