// Functions that are marked as not to be unwound are told as such, many as one.
// ! {"tables": ["ehabi"], "alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 2 of 2 functions have code that is marked as one that cannot be unwound; all 6 instructions were executed.
// | warning `bl other`, at -2, 9: `.cantunwind`; f0 < nothing more; tried: it makes 1 instruction right and none wrong
// | f0+0x4 (bl other): the caller is lost: the table says that this function cannot be unwound, and it is called: write `.save {r4, lr}` for `.cantunwind` in line 7 (.ARM.exidx; seen when it was executed)
// | warning `bl other`, at -2, 9: `.cantunwind`; f1 < nothing more; tried: it makes 1 instruction right and none wrong
// | f1+0x4 (bl other): the caller is lost: the table says that this function cannot be unwound, and it is called: write `.save {r4, lr}` for `.cantunwind` in line 16 (.ARM.exidx; seen when it was executed)
// | f0: 3, 3 executed, all came back
// | f1: 3, 3 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.
// case: six of them
// -         .size f1, .-f1
// +         .size f1, .-f1
// +         .globl f2
// +         .type f2, %function
// + f2:     .fnstart
// +         .cantunwind
// +         push {r4, lr}
// +         bl other
// +         pop {r4, pc}
// +         .fnend
// +         .size f2, .-f2
// +         .globl f3
// +         .type f3, %function
// + f3:     .fnstart
// +         .cantunwind
// +         push {r4, lr}
// +         bl other
// +         pop {r4, pc}
// +         .fnend
// +         .size f3, .-f3
// +         .globl f4
// +         .type f4, %function
// + f4:     .fnstart
// +         .cantunwind
// +         push {r4, lr}
// +         bl other
// +         pop {r4, pc}
// +         .fnend
// +         .size f4, .-f4
// +         .globl f5
// +         .type f5, %function
// + f5:     .fnstart
// +         .cantunwind
// +         push {r4, lr}
// +         bl other
// +         pop {r4, pc}
// +         .fnend
// +         .size f5, .-f5
// | it: 6 of 6 functions have code that is marked as one that cannot be unwound; all 18 instructions were executed.
// | warning `bl other`, at -2, 9: `.cantunwind`; f0 < nothing more; tried: it makes 6 instructions right and none wrong
// | f0+0x4 (bl other): the caller is lost: the table says of 6 functions that are called that they cannot be unwound: f0, f1, f2, f3, f4 and f5: write `.save {r4, lr}` for `.cantunwind` (.ARM.exidx; seen when it was executed; 5 more instructions in 5 more functions by the same cause)
// | f0: 3, 3 executed, all came back
// | f1: 3, 3 executed, all came back
// | f2: 3, 3 executed, all came back
// | f3: 3, 3 executed, all came back
// | f4: 3, 3 executed, all came back
// | f5: 3, 3 executed, all came back
// | as is advised: it: every row is right; all 18 instructions were executed.

        .syntax unified
        .arm
        .text
        .globl f0
        .type f0, %function
f0:     .fnstart
        .cantunwind
        push {r4, lr}
        bl other
        pop {r4, pc}
        .fnend
        .size f0, .-f0
        .globl f1
        .type f1, %function
f1:     .fnstart
        .cantunwind
        push {r4, lr}
        bl other
        pop {r4, pc}
        .fnend
        .size f1, .-f1
