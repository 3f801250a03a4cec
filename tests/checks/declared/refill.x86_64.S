// A refill of a return predictor.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right; 5 of 10 instructions were executed (50.0 %), 5 undecided, in f.
// | f: 10, 5 executed, 5 never, all came back
// case: its calls are described
// -  call 771f
// +  call 771f
// +  .cfi_adjust_cfa_offset 8
// -  .cfi_adjust_cfa_offset 32
// +  .cfi_adjust_cfa_offset 0
// | it: every row that was executed is right; 5 of 10 instructions were executed (50.0 %), 5 undecided, in f.
// | f: 10, 5 executed, 5 never, all came back
// case: a wrong offset
// -  .cfi_adjust_cfa_offset 32
// +  .cfi_adjust_cfa_offset 24
// | it: 1 of 1 function has a wrong row; 5 of 10 instructions were executed (50.0 %), 5 undecided, in f.
// | error `addq $32, %rsp`, at -1, 2: `.cfi_adjust_cfa_offset 24`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0x18 (addq $32, %rsp): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+40 here: write `.cfi_adjust_cfa_offset 32` for `.cfi_adjust_cfa_offset 24` in line 10 (.eh_frame; seen when it was executed)
// | f: 10, 5 executed, 5 never, all came back
// | as is advised: it: every row that was executed is right; 5 of 10 instructions were executed (50.0 %), 5 undecided, in f.

.text
.globl f
.type f, @function
f: .cfi_startproc
 .rept 4
 call 771f
 int3
771:
 .endr
 .cfi_adjust_cfa_offset 32
 addq $32, %rsp
 .cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size f, . - f
