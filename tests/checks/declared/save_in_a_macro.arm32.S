// A directive of a frame that stands in a macro of the assembler's is corrected there, for all its uses.
// ! {"tables": ["ehabi"], "runs": 40, "steps": 200}
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 6, 6 executed, all came back
// | g: 6, 6 executed, all came back
// case: a register too few
// -  .save {r4-r6, lr}
// +  .save {r4-r5, lr}
// | it: 2 of 2 functions have a wrong row; all 12 instructions were executed.
// | error `bl leaf`, at -2, 2: `enter 8` in enter, -8; f < no code (the caller's r6); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0xc (bl leaf): the caller is lost: the row says CFA = sp+20, the true CFA is sp+24 here; the row says r4 is at CFA-12, the caller's r4 is at CFA-16; the row says r5 is at CFA-8, r5 still has the caller's value: write `.save {r4-r6, lr}` for `.save {r4-r5, lr}` in line 5 (in enter, used in lines 13 and 23) (.ARM.exidx; seen when it was executed; 1 more instruction in 1 more function by the same cause)
// | f: 6, 6 executed, all came back
// | g: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: another number for a parameter
// -  .pad #\extra
// +  .pad #4
// | it: 2 of 2 functions have a wrong row; all 12 instructions were executed.
// | error `bl leaf`, at -2, 2: `enter 8` in enter, -6; f < no code (the caller's r6); tried: it makes 1 instruction right and none wrong
// | f+0xc (bl leaf): the caller is lost: the row says CFA = sp+20, the true CFA is sp+24 here: write `.pad #8` for `.pad #4`; no patch is given: no line of the macro enter was found that is right at all its uses (.ARM.exidx; seen when it was executed)
// | error `bl leaf`, at -2, 2: `enter 16` in enter, -16; g < no code (the caller's r4); tried: it makes 1 instruction right and none wrong
// | g+0xc (bl leaf): the caller is lost: the row says CFA = sp+20, the true CFA is sp+32 here: write `.pad #16` for `.pad #4`; no patch is given: no line of the macro enter was found that is right at all its uses (.ARM.exidx; seen when it was executed)
// | f: 6, 6 executed, all came back
// | g: 6, 6 executed, all came back
// | as is advised: it: 2 of 2 functions have a wrong row; all 12 instructions were executed.

 .syntax unified
 .arm
 .macro enter extra
 push {r4-r6, lr}
 .save {r4-r6, lr}
 sub sp, #\extra
 .pad #\extra
 .endm
 .text
 .globl f
 .type f, %function
f: .fnstart
 enter 8
 mov r4, r0
 bl leaf
 add sp, #8
 pop {r4-r6, pc}
 .fnend
 .size f, . - f
 .globl g
 .type g, %function
g: .fnstart
 enter 16
 mov r5, r0
 bl leaf
 add sp, #16
 pop {r4-r6, pc}
 .fnend
 .size g, . - g
