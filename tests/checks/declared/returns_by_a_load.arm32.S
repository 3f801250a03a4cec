// Without its frame a return loads pc from the stack, as an indirect jump would.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 18 instructions were executed.
// | f: 18, 13 executed, 5 forced, all came back

        .syntax unified
        .thumb
        .text
        .globl f
        .type f, %function
f:      .fnstart
        push {lr}
        .save {lr}
        sub sp, #12
        .pad #12
        cmp r0, #3
        bhi 5f
        tbb [pc, r0]
1:      .byte (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, (5f-1b)/2
2:      mov r0, sp
        bl other
        add sp, #12
        ldr pc, [sp], #4
3:      add r0, sp, #4
        bl other
        add sp, #12
        ldr pc, [sp], #4
4:      bl abort
5:      movs r0, #7
        bl other
        add sp, #12
        ldr pc, [sp], #4
        .fnend
        .size f, .-f
