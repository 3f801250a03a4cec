// Nobody calls it: its address was put over a return address, as tracers do, and it returns by the word that it puts
// into its frame where its rows say.
//
// case: as it is
// | it: every row that was executed is right; 3 of 16 instructions were executed (18.8 %), 3 only read, 10 undecided, in f.
// | g: 6, 3 executed, 3 static, some came back
// | not called: f: 10, 10 never
// | note: nobody calls f: each run returned to what a call had answered, so no caller is known there
// | dropped 6: a jump to where no code is
// case: what is called, and leaves by a push and a return, is held to its call
// -         push    %rbx
// -         .cfi_def_cfa_offset 16
// +         push    %rbx
// | it: 1 of 1 function has a wrong row; 3 of 16 instructions were executed (18.8 %), 13 undecided, in f and g.
// | error `mov     %rdi, %rbx`, at -2, 9: `push %rbx`; g < no code (the caller's %rbx); tried: it makes 2 instructions right and none wrong
// | g+0x1 (mov %rdi, %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` behind line 22 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | g: 6, 3 executed, 3 never, some came back
// | not called: f: 10, 10 never
// | note: nobody calls f: each run returned to what a call had answered, so no caller is known there
// | dropped 6: a jump to where no code is
// | as is advised: it: every row that was executed is right; 3 of 16 instructions were executed (18.8 %), 3 only read, 10 undecided, in f.
// case: it returns to who called it
// -         add     $24, %rsp
// +         add     $32, %rsp
// | it: 1 of 2 functions has a wrong row; 13 of 16 instructions were executed (81.2 %), 3 only read.
// | error `mov     %rdx, 8(%rsp)`, at -1, 9: `.cfi_def_cfa_offset 32`; f < no code (the word at CFA-16); tried: it makes 8 instructions right and none wrong
// | f+0x4 (mov %rdx, 8(%rsp)): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+40 here: write `.cfi_def_cfa_offset 40` for `.cfi_def_cfa_offset 32` in line 6 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | g: 6, 3 executed, 3 static, some came back
// | dropped 3: a jump to where no code is
// | as is advised: it: every row that was executed is right; 13 of 16 instructions were executed (81.2 %), 3 only read.

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
        .globl g
        .type g, @function
g:      .cfi_startproc
        push    %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        mov     %rdi, %rbx
        call    where@PLT
        pop     %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        push    %rax
        .cfi_def_cfa_offset 16
        ret
        .cfi_endproc
        .size g, .-g
