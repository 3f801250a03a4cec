// A jump to what stands behind the call of itself is none that comes back, though the link register has that address.
//
// case: right
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 11 executed, 2 forced, all came back
// | note: not called, 1 place of code (__ThumbV7PILongThunk_free): the first row there is not that of a function that someone calls

 .syntax unified
 .thumb
 .text
 .globl f
 .type f, %function
 .thumb_func
f:
 .fnstart
 push {r3, r4, r5, lr}
 .save {r3, r4, r5, lr}
 mov r4, r0
 ldr r0, [r0, #4]
 mov r5, r1
 bics r3, r0, #1
 bls 1f
 bic r0, r0, #1
 bl f
1:
 ldr r0, [r4]
 blx r5
 mov r0, r4
 pop {r3, r4, r5, lr}
 b free
 .fnend
 .size f, . - f
