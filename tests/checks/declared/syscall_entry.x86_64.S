// A kernel's entry: `syscall` left the return address in rcx, and the first row says so. No call leads there.
//
// case: the return address is what an expression finds: DW_CFA_expression of it, DW_OP_breg2 (rcx) 16
// -         .cfi_register %rip, %rcx
// -         pushq   %rcx
// +         .cfi_escape 0x10, 0x10, 0x02, 0x72, 0x10
// +         pushq   %rcx
// | it: every row that was executed is right; 1 of 5 instructions were executed (20.0 %), 4 undecided, in f.
// | called: 1, 1 executed, all came back
// | not called: f: 4, 4 never
// | note: not called, 1 place of code (f): what stands there is no function that someone calls
// case: nothing is called
// | it: every row that was executed is right; 1 of 5 instructions were executed (20.0 %), 4 undecided, in f.
// | called: 1, 1 executed, all came back
// | not called: f: 4, 4 never
// | note: not called, 1 place of code (f): what stands there is no function that someone calls

        .globl f
        .type f, @function
f:      .cfi_startproc
        .cfi_def_cfa %rsp, 0
        .cfi_register %rip, %rcx
        pushq   %rcx
        .cfi_def_cfa_offset 8
        .cfi_offset %rip, -8
        movq    %rdi, %rax
        popq    %rcx
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rcx
        jmpq    *%rcx
        .cfi_endproc
        .size f, .-f

        .globl called
        .type called, @function
called: .cfi_startproc
        ret
        .cfi_endproc
        .size called, .-called
