// Nobody calls it: its address was put over a return address, as tracers do, and it returns by the word that it puts
// into its frame where its rows say.
//
// case: as it is
// | it: every row that was executed is right; 5 of 10 instructions were executed (50.0 %), 5 undecided, in f.
// | f: 10, 5 executed, 5 never, some came back
// | dropped 3: a jump to where no code is
// case: it returns to who called it
// -         add     $24, %rsp
// +         add     $32, %rsp
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `mov     %rdx, 8(%rsp)`, at -1, 9: `.cfi_def_cfa_offset 32`; f < no code (the word at CFA-16); tried: it makes 8 instructions right and none wrong
// | f+0x4 (mov %rdx, 8(%rsp)): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+40 here: write `.cfi_def_cfa_offset 40` for `.cfi_def_cfa_offset 32` in line 6 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        sub     $32, %rsp
        .cfi_def_cfa_offset 32
        mov     %rdx, 8(%rsp)
        mov     %rax, (%rsp)
        mov     %rsp, %rdi
        call    parent
        mov     %rax, 24(%rsp)
        mov     (%rsp), %rax
        mov     8(%rsp), %rdx
        add     $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
