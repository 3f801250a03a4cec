// Code that no symbol and no entry tells of, as in a stripped file, is tried where code with rows calls it.
// ! {"runs": 20, "steps": 200}
//
// case: as it is
// | it: 1 of 2 functions has code without a row; all 12 instructions were executed; 8 have no row.
// | error `pushq %rbp`, at +0, 9: `pushq %rbp`; no name < nothing more; tried: it makes 2 of 8 instructions right; what the others need as well, testbed annotate writes
// | no name (pushq %rbp): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 16, and `.cfi_endproc` behind line 23 (tried: it makes 2 of 8 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 4, 4 executed, all came back
// | no name: 8, 8 executed, 8 without row, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 12 instructions were executed.
// case: it jumps through a register, as a linker's stub
// -         pushq %rbp
// -         movq %rsp, %rbp
// +         jmp *%rdi
// | it: every row that was executed is right; all 4 instructions were executed; nothing is said of 22 bytes of code.
// | f: 4, 4 executed, some came back
// | note: 22 of 51 bytes of .text are of no function that a symbol, a row or a call tells: nothing is said of them
// case: it has rows
// - .Lhid:
// + .Lhid:  .cfi_startproc
// -         pushq %rbp
// -         movq %rsp, %rbp
// +         nop
// -         popq %rbp
// +         nop
// -         ret // behind it
// +         ret
// +         .cfi_endproc
// | it: every row is right; all 11 instructions were executed.
// | f: 4, 4 executed, all came back
// | no name: 7, 7 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        call .Lhid
        popq %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
        .p2align 4
.Lhid:
        pushq %rbp
        movq %rsp, %rbp
        testq %rdi, %rdi
        je 1f
        movl $1, %eax
1:      call ext
        popq %rbp
        ret // behind it
        .p2align 4
        pushq %rbx // what nothing leads to is no part of it
        popq %rbx
        ret
