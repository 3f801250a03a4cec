// `.ARM.exidx`: one row for all calls of a function, whatever its prologue and epilogue do. Linkers join what says the
// same.
//
// case: as it is
// | 5 of 5 agree
// case: a save is not told
// -         .save   {r4, r5, r11, lr}
// +         .save   {r4, r11, lr}
// +         .pad    #4
// | 4 of 5 agree
// | suspect: a register is not where the row says it is saved
// | f+0x12 (row of f+0x0): the row says r4 is at CFA-0xc; there is the caller's r5, coming from f+0xe; wrong besides: r5; wrong at a call, too
// case: the frame is told too small
// -         .pad    #16
// +         .pad    #8
// | 4 of 5 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x12 (row of f+0x0): the row says CFA = sp+0x28; sp is CFA-0x30, coming from f+0xe; wrong at a call, too
// case: it says that nothing is saved, and calls
// -         .save   {r5, lr}
// +         nop
// | 4 of 5 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | bare+0x6 (row of bare+0x0): the row says CFA = sp; sp is CFA-0x8, coming from bare+0x4; wrong besides: r5, lr; wrong at a call, too
// case: the frame changes between two calls
// -         bl      outside
// -         add     sp, sp, #16
// +         add     sp, sp, #16
// +         bl      outside
// | 4 of 5 agree
// | cannot tell: a call that perhaps does not come back
// | f+0x12: a call that perhaps does not come back

        .syntax unified
        .thumb
        .globl f
        .type f, %function
        .thumb_func
f:      .fnstart
        push    {r4, r5, r11, lr}
        .save   {r4, r5, r11, lr}
        mov     r4, r0
        vpush   {d8, d9}
        .vsave  {d8, d9}
        sub     sp, sp, #16
        .pad    #16
        mov     r5, r1
        vmov.f64 d8, d0
        bl      outside
        cmp     r0, r4
        beq     1f
        bl      outside
        add     sp, sp, #16
        vpop    {d8, d9}
        pop     {r4, r5, r11, pc}
1:      bl      never
        .fnend
        .size f, .-f

        .globl never
        .type never, %function
        .thumb_func
never:  .fnstart
        push    {r3, lr}
        .save   {r3, lr}
2:      bl      outside
        b       2b
        .fnend
        .size never, .-never

// No entry says where this one begins: it is joined with the one before.
        .type also, %function
        .thumb_func
also:   .fnstart
        push    {r3, lr}
        .save   {r3, lr}
        bl      outside
        pop     {r3, pc}
        .fnend
        .size also, .-also

        .globl refuses
        .type refuses, %function
        .thumb_func
refuses: .fnstart
        .cantunwind
        push    {r3, r4, r5, lr}
        bl      also
        pop     {r3, r4, r5, pc}
        .fnend
        .size refuses, .-refuses

        .globl bare
        .type bare, %function
        .thumb_func
bare:   .fnstart
        push    {r5, lr}
        .save   {r5, lr}
        mov     r5, r0
        bl      outside
        pop     {r5, pc}
        .fnend
        .size bare, .-bare

// What is called last is never come back from, and its frame has nothing to do with the data behind it.
        .globl pool
        .type pool, %function
        .thumb_func
pool:   .fnstart
        push    {r6, lr}
        .save   {r6, lr}
        ldr     r0, 3f
        ldr     r6, 3f + 4
        bl      ends
3:      .word   0xb084b510, 0xf7ffb510
        .fnend
        .size pool, .-pool
