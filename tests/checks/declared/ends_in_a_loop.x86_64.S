// The loop ends when the steps are used up. The function after it is called from the same stack, with the same
// SP: a path that used up its steps leaves nothing to the next one.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 16 instructions were executed.
// | loops: 4, 4 executed, some came back
// | waits: 7, 7 executed, some came back
// | later: 5, 5 executed, some came back

        .text
        .globl loops
        .type loops, @function
loops:  .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        call waits
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size loops, .-loops
        .globl waits
        .type waits, @function
waits:  .cfi_startproc
        subq $8, %rsp
        .cfi_def_cfa_offset 16
        jmp 2f
1:      call other
2:      cmpq $0, (%rdi)
        jne 1b
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size waits, .-waits
        .globl later
        .type later, @function
later:  .cfi_startproc
        pushq %r12
        .cfi_def_cfa_offset 16
        .cfi_offset %r12, -16
        movl $7, %r12d
        call waits
        popq %r12
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size later, .-later
