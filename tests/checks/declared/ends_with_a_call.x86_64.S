// The last instruction calls an import that does not come back, which nobody can know. The next function has a
// frame. What fills up a function is no instruction of it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | ends: 3, 3 executed, some came back
// | next: 4, 4 executed, all came back
// case: filled up
// -         call gives_up
// +         call gives_up
// +         nop
// | it: every row is right; all 7 instructions were executed.
// | ends: 3, 3 executed, some came back
// | next: 4, 4 executed, all came back

        .text
        .globl ends
        .type ends, @function
ends:   .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        call other
        call gives_up
        .cfi_endproc
        .size ends, .-ends
        .globl next
        .type next, @function
next:   .cfi_startproc
        subq $24, %rsp
        .cfi_def_cfa_offset 32
        call other
        addq $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size next, .-next
