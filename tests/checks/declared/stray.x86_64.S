// Code that nothing leads to is entered from behind a call with its frame.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 10, 7 executed, 3 forced, all came back
// | g: 2, 2 executed, all came back
// case: nothing stands behind the call
// -         movq %rax, %rbx
// | it: every row that was executed is right; 8 of 11 instructions were executed (72.7 %), 3 only read.
// | f: 9, 6 executed, 3 static, all came back
// | g: 2, 2 executed, all came back

        .globl f, g
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        subq $32, %rsp
        .cfi_def_cfa_offset 48
        call g
        movq %rax, %rbx
1:      addq $32, %rsp
        .cfi_remember_state
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state
        movq %rax, %rdi
        call g
        jmp 1b
        .cfi_endproc
        .size f, .-f
        .type g, @function
g:      .cfi_startproc
        movl $1, %eax
        ret
        .cfi_endproc
        .size g, .-g
