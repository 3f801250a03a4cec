// What a macro chooses by comparing its arguments, also within another choice, is followed: its line is corrected.
// ! {"runs": 40, "steps": 200}
//
// case: words
// - pushq %\reg
// + pushq %\reg
// + .ifnc \reg, rax
// - .cfi_rel_offset %\reg, 0
// + .cfi_rel_offset %\reg, 0
// + .endif
// - .cfi_adjust_cfa_offset \n
// | it: 2 of 2 functions have a wrong row; all 14 instructions were executed.
// | error `ROOM 24`, at -1, 1: `PUSHR rbx` in PUSHR, -19; f < no code (the caller's %rbx); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x1 (subq $24, %rsp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %rbx is at CFA-8, %rbx still has the caller's value: add `.cfi_adjust_cfa_offset \n` before line 4 (in PUSHR, used in lines 23 and 38) (.eh_frame; seen when it was executed; 11 more instructions in 1 more function by the same cause)
// | f: 7, 7 executed, all came back
// | g: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.
// case: numbers
// - .cfi_adjust_cfa_offset \room
// | it: 2 of 2 functions have a wrong row; all 14 instructions were executed.
// | error `movq %rdi, %rbx`, at -1, 1: `ROOM 24` in ROOM, -13; f < no code (the word at CFA-32); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x5 (movq %rdi, %rbx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+40 here: add `.cfi_adjust_cfa_offset \room` behind line 9 (in ROOM, used in lines 22 and 37) (.eh_frame; seen when it was executed; 9 more instructions in 1 more function by the same cause)
// | f: 7, 7 executed, all came back
// | g: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.
// case: as it is
// | it: every row is right; all 14 instructions were executed.
// | f: 7, 7 executed, all came back
// | g: 7, 7 executed, all came back

.macro PUSHR reg, n=8
pushq %\reg
.cfi_adjust_cfa_offset \n
.cfi_rel_offset %\reg, 0
.endm
.macro ROOM room=8, keep=1
.if \keep
.if \room > 8 && \room != 9
subq $\room, %rsp
.cfi_adjust_cfa_offset \room
.else
subq $8, %rsp
.cfi_adjust_cfa_offset 8
.endif
.endif
.endm

.text
.globl f
.type f, @function
f: .cfi_startproc
PUSHR rbx
ROOM 24
movq %rdi, %rbx
call elsewhere
addq $24, %rsp
.cfi_adjust_cfa_offset -24
popq %rbx
.cfi_adjust_cfa_offset -8
.cfi_restore %rbx
ret
.cfi_endproc
.size f, .-f
.globl g
.type g, @function
g: .cfi_startproc
PUSHR r12
ROOM room=16
movq %rsi, %r12
call elsewhere
addq $16, %rsp
.cfi_adjust_cfa_offset -16
popq %r12
.cfi_adjust_cfa_offset -8
.cfi_restore %r12
ret
.cfi_endproc
.size g, .-g
