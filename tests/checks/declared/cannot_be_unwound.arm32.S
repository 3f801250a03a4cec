// Functions that are marked as not to be unwound are told as such, many as one.
// ! {"tables": ["ehabi"], "alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: what was executed has no row, so none is known to be right; all 6 instructions were executed.
// | note `bl other`, at +0, 9: `bl other`; f0 < nothing more
// | f0+0x4 (bl other): the caller is lost: the table says that this function cannot be unwound, and it is called (.ARM.exidx; seen when it was executed)
// | note `bl other`, at +0, 9: `bl other`; f1 < nothing more
// | f1+0x4 (bl other): the caller is lost: the table says that this function cannot be unwound, and it is called (.ARM.exidx; seen when it was executed)
// | f0: 3, 3 executed, all came back
// | f1: 3, 3 executed, all came back
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
// | it: what was executed has no row, so none is known to be right; all 18 instructions were executed.
// | note `bl other`, at +0, 9: `bl other`; f0 < nothing more
// | f0+0x4 (bl other): the caller is lost: the table says of 6 functions that are called that they cannot be unwound: f0, f1, f2, f3, f4 and f5 (.ARM.exidx; seen when it was executed; 5 more instructions in 5 more functions by the same cause)
// | f0: 3, 3 executed, all came back
// | f1: 3, 3 executed, all came back
// | f2: 3, 3 executed, all came back
// | f3: 3, 3 executed, all came back
// | f4: 3, 3 executed, all came back
// | f5: 3, 3 executed, all came back

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
