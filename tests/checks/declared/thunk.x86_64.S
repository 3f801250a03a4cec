// A retpoline: the call's return address is written over.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right; 3 of 6 instructions were executed (50.0 %), 3 only read.
// | f: 6, 3 executed, 3 static, some came back
// case: LLVM's, whose return address is where control goes on
// - f: .cfi_startproc
// + f: .cfi_startproc
// +  leaq f(%rip), %r11
// - 2: .cfi_def_cfa_offset 16
// + 2:
// | it: every row that was executed is right; 4 of 7 instructions were executed (57.1 %), 3 only read.
// | f: 7, 4 executed, 3 static, some came back
// case: LLVM's, of what another file has
// - f: .cfi_startproc
// + f: .cfi_startproc
// +  leaq elsewhere@plt(%rip), %r11
// - 2: .cfi_def_cfa_offset 16
// + 2:
// | it: every row that was executed is right; 4 of 7 instructions were executed (57.1 %), 3 only read.
// | f: 7, 4 executed, 3 static, all came back
// case: a wrong offset
// - 2: .cfi_def_cfa_offset 16
// + 2: .cfi_def_cfa_offset 24
// | it: 1 of 1 function has a wrong row; 3 of 6 instructions were executed (50.0 %), 3 undecided, in f.
// | error `movq %r11, (%rsp)`, at -1, 4: `.cfi_def_cfa_offset 24`; f < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f+0xc (movq %r11, (%rsp)): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: write `.cfi_def_cfa_offset 16` for `.cfi_def_cfa_offset 24` in line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 6, 3 executed, 3 never, some came back
// | as is advised: it: every row that was executed is right; 3 of 6 instructions were executed (50.0 %), 3 only read.

.text
.globl f
.type f, @function
f: .cfi_startproc
 call 2f
1: pause
 lfence
 jmp 1b
2: .cfi_def_cfa_offset 16
 movq %r11, (%rsp)
 ret
.cfi_endproc
.size f, . - f
