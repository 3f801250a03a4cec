// Code that an entry of the index marks as the beginning of a stack, or as what has no table: nobody calls it.
//
// case: a child behind a system call
// | it: no row was compared with what happens (.ARM.exidx promises rows at calls only, and none was made), so nothing is known of them; all 9 instructions were executed.
// | f: 5, 5 executed, some came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// case: a part of a function that is called
// -  svc #1
// +  bl other
// | it: every row is right; all 9 instructions were executed.
// | f: 5, 5 executed, some came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// case: nobody jumps there
// -  beq 1f
// +  nop
// | it: no row was compared with what happens (.ARM.exidx promises rows at calls only, and none was made), so nothing is known of them; 5 of 9 instructions were executed (55.6 %), 4 undecided, in no name.
// | f: 5, 5 executed, all came back
// | not called: no name: 4, 4 never
// | note: not called, 1 place of code: what stands there is no function that someone calls
// case: somebody calls it
// -  beq 1f
// +  bl 1f
// | it: every row that was executed is right; 7 of 9 instructions were executed (77.8 %), 2 undecided, in .Ltmp0.
// | note `blx ip`, at +0, 2: `blx ip`; .Ltmp0 < nothing more
// | .Ltmp0+0x4 (blx ip): the caller is lost: the table says that this function cannot be unwound, and it is called (.ARM.exidx; seen when it was executed)
// | f: 5, 4 executed, 1 forced, some came back
// | .Ltmp0: 4, 2 executed, 2 never, some came back

 .syntax unified
 .arm
 .text
 .globl f
 .type f, %function
f:
 .fnstart
 .save {r4, lr}
 push {r4, lr}
 svc #1
 cmp r0, #1
 beq 1f
 pop {r4, pc}
 .fnend
 .size f, . - f
1:
 .fnstart
 .cantunwind
 ldr ip, [sp], #8
 blx ip
 ldr r7, =1
 svc #0
 .fnend
