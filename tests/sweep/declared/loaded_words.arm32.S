// OCaml's Thumb: behind a return stand the words that the code above loads, and no symbol of a stripped file says so.
// As code the first is `sub sp, #96`, the second a branch into another function.
//
// case: as it is
// | 2 of 2 agree
// case: no instruction loads the first
// -         ldr     r0, [pc, #4]
// +         nop
// | 1 of 2 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x8: code that nothing is known to lead to, and in which no row begins: perhaps data

        .syntax unified
        .thumb
        .cfi_sections .debug_frame
        .globl g
        .type g, %function
        .thumb_func
g:      .cfi_startproc
        push    {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset r4, -8
        .cfi_offset lr, -4
        mov     r4, r0
        pop     {r4, pc}
        .cfi_endproc
        .size g, .-g
        .balign 4
        .globl f
        .type f, %function
        .thumb_func
f:      .cfi_startproc
        ldr     r0, [pc, #4]
        ldr     r1, [pc, #8]
        bx      lr
        nop
        .inst.n 0xb098
        .inst.n 0x0015
        .inst.n 0xe7f3
        .inst.n 0x0010
        .cfi_endproc
        .size f, .-f
