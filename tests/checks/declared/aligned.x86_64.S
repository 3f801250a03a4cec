// Behind an alignment that the ABI does not give, the distance from SP to the CFA is as many bytes as the beginning of the
// stack makes of it: SP begins at two of them.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | f: 7, 7 executed, all came back
// case: the ABI's own alignment
// -         .cfi_def_cfa_register %rbx
// -         andq    $-64, %rsp
// +         andq    $-16, %rsp
// | it: every row that was executed is right; 5 of 7 instructions were executed (71.4 %), 2 only read.
// | f: 7, 5 executed, 2 static, all came back
// case: 16 bytes from SP
// -         movq    %rsp, %rbx
// -         .cfi_def_cfa_register %rbx
// +         movq    %rsp, %rbx
// -         andq    $-64, %rsp
// +         andq    $-64, %rsp
// +         .cfi_def_cfa_offset 16
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `nop`, at -3, 9: `movq %rsp, %rbx`; f < no code (the word at CFA-56); tried: it makes 2 instructions right and none wrong
// | f+0x8 (nop): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+64 at the first visit, and at no fixed distance: add `.cfi_def_cfa_register %rbx` behind line 7 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: 32 bytes from SP
// -         movq    %rsp, %rbx
// -         .cfi_def_cfa_register %rbx
// +         movq    %rsp, %rbx
// -         andq    $-64, %rsp
// +         andq    $-64, %rsp
// +         .cfi_def_cfa_offset 32
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `nop`, at -1, 9: `.cfi_def_cfa_offset 32`; f < no code (the word at CFA-40); tried: it makes 2 instructions right and none wrong
// | f+0x8 (nop): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+64 at the first visit, and at no fixed distance: write `.cfi_def_cfa %rbx, 16` for `.cfi_def_cfa_offset 32` in line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: 48 bytes from SP
// -         movq    %rsp, %rbx
// -         .cfi_def_cfa_register %rbx
// +         movq    %rsp, %rbx
// -         andq    $-64, %rsp
// +         andq    $-64, %rsp
// +         .cfi_def_cfa_offset 48
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `nop`, at -1, 9: `.cfi_def_cfa_offset 48`; f < no code (the word at CFA-24); tried: it makes 2 instructions right and none wrong
// | f+0x8 (nop): the caller is lost: the row says CFA = %rsp+48, the true CFA is %rsp+64 at the first visit, and at no fixed distance: write `.cfi_def_cfa %rbx, 16` for `.cfi_def_cfa_offset 48` in line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: 64 bytes from SP
// -         movq    %rsp, %rbx
// -         .cfi_def_cfa_register %rbx
// +         movq    %rsp, %rbx
// -         andq    $-64, %rsp
// +         andq    $-64, %rsp
// +         .cfi_def_cfa_offset 64
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `nop`, at -1, 9: `.cfi_def_cfa_offset 64`; f < no code (the word at CFA+8); tried: it makes 2 instructions right and none wrong
// | f+0x8 (nop): the caller is lost: the row says CFA = %rsp+64, the true CFA is %rsp+48 at the first visit, and at no fixed distance: write `.cfi_def_cfa %rbx, 16` for `.cfi_def_cfa_offset 64` in line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rsp, %rbx
        .cfi_def_cfa_register %rbx
        andq    $-64, %rsp
        nop
        movq    %rbx, %rsp
        .cfi_def_cfa %rsp, 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
