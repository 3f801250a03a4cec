// One directive counts several pushes, behind the last: what each of them lacks is right with the others only.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `pushq %rcx`, at -1, 1: `pushq %r8`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0x2 (pushq %rcx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset 8` behind line 5, and write `.cfi_adjust_cfa_offset 8` for `.cfi_adjust_cfa_offset 24` in line 8: together with all that is advised of this function (.eh_frame; seen when it was executed)
// | error `pushq %rdx`, at -1, 1: `pushq %rcx`; f < no code (the word at CFA-24); tried: it makes 1 instruction right and none wrong
// | f+0x3 (pushq %rdx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here: add `.cfi_adjust_cfa_offset 8` behind line 6, and write `.cfi_adjust_cfa_offset 8` for `.cfi_adjust_cfa_offset 24` in line 8: together with all that is advised of this function (.eh_frame; seen when it was executed)
// | f: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.
// case: a macro has the directive's name for an argument, as HHVM's
// - .text
// + #define CFI2(x, y) .cfi_##x y
// + .text
// - .cfi_adjust_cfa_offset 24
// + CFI2(adjust_cfa_offset, 24)
// - .cfi_adjust_cfa_offset -24
// + CFI2(adjust_cfa_offset, -24)
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `pushq %rcx`, at -1, 1: `pushq %r8`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0x2 (pushq %rcx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` behind line 6, and write `CFI2(adjust_cfa_offset, 8)` for `CFI2(adjust_cfa_offset, 24)` in line 9: together with all that is advised of this function (.eh_frame; seen when it was executed)
// | error `pushq %rdx`, at -1, 1: `pushq %rcx`; f < no code (the word at CFA-24); tried: it makes 1 instruction right and none wrong
// | f+0x3 (pushq %rdx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here: add `.cfi_def_cfa_offset 24` behind line 7, and write `CFI2(adjust_cfa_offset, 8)` for `CFI2(adjust_cfa_offset, 24)` in line 9 (.eh_frame; seen when it was executed)
// | f: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.

.text
.globl f
.type f, @function
f: .cfi_startproc
pushq %r8
pushq %rcx
pushq %rdx
.cfi_adjust_cfa_offset 24
call elsewhere
addq $24, %rsp
.cfi_adjust_cfa_offset -24
ret
.cfi_endproc
.size f, .-f
