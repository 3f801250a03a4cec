// BoringSSL's `bn_mul4x_mont`: the CFA lies behind an array in the frame, whose length is an argument that is a
// multiple of four words, as nobody knows. A path that wrote over where it lies counts until then.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 16 instructions were executed.
// | f: 16, 16 executed, some came back
// | dropped 2: a jump to where no code is
// case: another distance
// -         .cfi_escape 0x0f,0x0a,0x77,0x08,0x75,0x00,0x38,0x1e,0x22,0x06,0x23,0x08
// +         .cfi_escape 0x0f,0x0a,0x77,0x08,0x75,0x00,0x38,0x1e,0x22,0x06,0x23,0x10
// | it: 1 of 1 function has a wrong row; all 16 instructions were executed.
// | error `xorl %r11d, %r11d`, at -2, 9: `movq %rax, 8(%rsp,%rdi,8)`; f < no code (a word that lies elsewhere)
// | f+0x17 (xorl %r11d, %r11d): the caller is lost: the row says CFA = what an expression computes, the true CFA is %rsp+0x50 at the first visit, and at no fixed distance; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | f: 16, 16 executed, some came back
// | dropped 2: a jump to where no code is

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        movq %rsp, %rax
        .cfi_def_cfa_register %rax
        pushq %rbx
        .cfi_offset %rbx, -16
        andl $15, %edi
        leaq 64(,%rdi,8), %r10
        subq %r10, %rsp
        movq %rax, 8(%rsp,%rdi,8)
        .cfi_escape 0x0f,0x0a,0x77,0x08,0x75,0x00,0x38,0x1e,0x22,0x06,0x23,0x08
        xorl %r11d, %r11d
1:      movq $7, 8(%rsp,%r11,8)
        movq $9, 16(%rsp,%r11,8)
        leaq 4(%r11), %r11
        cmpq %rdi, %r11
        jb 1b
        movq 8(%rsp,%rdi,8), %rsi
        .cfi_def_cfa %rsi, 8
        movq -8(%rsi), %rbx
        .cfi_restore %rbx
        leaq (%rsi), %rsp
        .cfi_def_cfa_register %rsp
        ret
        .cfi_endproc
        .size f, .-f
