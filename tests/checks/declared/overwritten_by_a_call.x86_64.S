// A word below SP holds a register until a call is made, which puts its return address there: of the row of the call
// that is as if it had never been saved.
//
// case: the row of the call says that it is saved there
// | it: 1 of 1 function has a wrong row; 3 of 5 instructions were executed (60.0 %), 2 undecided, in f.
// | warning `call h`, at -2, 9: `.cfi_offset %rbx, -16`; f < caller (%rbx wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x8 (call h): %rbx is shown wrong in the caller: the row says %rbx is at CFA-16, %rbx still has the caller's value: add `.cfi_restore %rbx` behind line 6 (.eh_frame; seen when it was executed)
// | f: 5, 3 executed, 2 never, some came back
// | dropped 3: came back with another SP, or with callee-saved registers lost
// | as is advised: it: every row that was executed is right, but on 1 way that no run took; 3 of 5 instructions were executed (60.0 %), 2 only read.
// case: the call is none
// -         call h
// +         nop
// | it: every row is right; all 5 instructions were executed.
// | f: 5, 5 executed, all came back

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        mov %rbx, -8(%rsp)
        .cfi_offset %rbx, -16
        mov %rdi, %rax
        call h
        mov -8(%rsp), %rbx
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
