// A part of a function that lies elsewhere and is jumped to: its rows are judged as those of the function
// itself.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 forced
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: a wrong offset
// -         .cfi_def_cfa_offset 24
// +         .cfi_def_cfa_offset 32
// | it: 1 of 2 functions and parts has a wrong row; all 11 instructions were executed.
// | error `movl    $3, %eax`, at -2, 9: `.cfi_def_cfa_offset 32`; f.cold < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f.cold+0x1 (movl $3, %eax): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+24 here: write `.cfi_def_cfa_offset 24` for `.cfi_def_cfa_offset 32` in line 23 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 forced
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// | as is advised: it: every row is right; all 11 instructions were executed.
// case: without a row
// - f.cold: .cfi_startproc
// -         .cfi_def_cfa_offset 16
// -         .cfi_offset %rbx, -16
// + f.cold:
// -         pushq   %rbp
// -         .cfi_def_cfa_offset 24
// -         .cfi_offset %rbp, -24
// +         pushq   %rbp
// -         popq    %rbp
// -         .cfi_def_cfa_offset 16
// -         .cfi_restore %rbp
// +         popq    %rbp
// -         jmp     back
// -         .cfi_endproc
// +         jmp     back
// | it: 1 of 2 functions and parts has code without a row; all 11 instructions were executed; 4 have no row.
// | error `pushq   %rbp`, at +0, 9: `pushq %rbp`; f.cold < nothing more
// | f.cold (pushq %rbp): the caller is lost: no row covers this instruction, and its function is called; no correction is given: no directives were found that describe it (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 3 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 forced, 4 without row
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: nothing leads there
// -         je      f.cold
// +         nop
// -         .cfi_def_cfa_offset 24
// +         .cfi_def_cfa_offset 32
// | it: every row that was executed is right; 7 of 11 instructions were executed (63.6 %), 4 undecided, in f.cold.
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 never
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: a helper with a convention of its own
// -         je      f.cold
// +         call    f.cold
// -         jmp     back
// +         ret
// | it: every row that was executed is right; 7 of 11 instructions were executed (63.6 %), 4 undecided, in f.cold.
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 never
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: where a stack begins, as in glibc's `clone`
// - f.cold: .cfi_startproc
// -         .cfi_def_cfa_offset 16
// -         .cfi_offset %rbx, -16
// + f.cold: .cfi_startproc
// +  .cfi_undefined rip
// -         pushq   %rbp
// -         .cfi_def_cfa_offset 24
// -         .cfi_offset %rbp, -24
// +         pushq   %rbp
// -         .cfi_def_cfa_offset 16
// -         .cfi_restore %rbp
// | it: every row that was executed is right; 7 of 11 instructions were executed (63.6 %), 4 undecided, in f.cold.
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 never
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: a call that never returns, and another part behind it
// -         jmp     back
// +         call    abort@PLT
// -         .size   f.cold, .-f.cold
// +         .size   f.cold, .-f.cold
// +         .text
// +         .globl  g
// +         .type   g, @function
// + g:      .cfi_startproc
// +         testq   %rdi, %rdi
// +         jne     g.cold
// +         ret
// +         .cfi_endproc
// +         .size   g, .-g
// +         .section .text.unlikely, "ax", @progbits
// +         .type   g.cold, @function
// + g.cold: .cfi_startproc
// +         subq    $24, %rsp
// +         .cfi_def_cfa_offset 32
// +         call    abort@PLT
// +         .cfi_endproc
// +         .size   g.cold, .-g.cold
// | it: every row is right; all 16 instructions were executed.
// | f: 7, 7 executed, some came back
// | g: 3, 2 executed, 1 forced, some came back
// | not called: f.cold: 4, 4 forced
// | not called: g.cold: 2, 2 executed
// | note: not called, 2 places of code (f.cold, g.cold): what stands there is no function that someone calls
// case: another row behind a call says that it never returns
// -         jmp     back
// +         call    abort@PLT
// +         .cfi_def_cfa_offset 32
// +         movq    %rax, %rdi
// +         call    abort@PLT
// | it: every row that was executed is right; 11 of 13 instructions were executed (84.6 %), 2 undecided, in f.cold.
// | f: 7, 7 executed, some came back
// | not called: f.cold: 6, 4 forced, 2 never
// | note: 2 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls
// case: a function that is asked for brings its parts
// ! {"functions": ["f"]}
// -         .size   f.cold, .-f.cold
// +         .size   f.cold, .-f.cold
// +         .text
// +         .globl  g
// +         .type   g, @function
// + g:      .cfi_startproc
// +         pushq   %rbx
// +         .cfi_def_cfa_offset 16
// +         .cfi_offset %rbx, -16
// +         movq    %rdi, %rbx
// +         testq   %rdi, %rdi
// +         je      g.cold
// +         xorl    %eax, %eax
// + away:   popq    %rbx
// +         .cfi_def_cfa_offset 8
// +         ret
// +         .cfi_endproc
// +         .size   g, .-g
// +         .section .text.unlikely, "ax", @progbits
// +         .type   g.cold, @function
// + g.cold: .cfi_startproc
// +         .cfi_def_cfa_offset 16
// +         .cfi_offset %rbx, -16
// +         pushq   %rbp
// +         .cfi_def_cfa_offset 24
// +         .cfi_offset %rbp, -24
// +         movl    $3, %eax
// +         popq    %rbp
// +         .cfi_def_cfa_offset 16
// +         .cfi_restore %rbp
// +         jmp     away
// +         .cfi_endproc
// +         .size   g.cold, .-g.cold
// | it: every row is right; all 11 instructions were executed.
// | f: 7, 7 executed, all came back
// | not called: f.cold: 4, 4 forced
// | note: not called, 1 place of code (f.cold): what stands there is no function that someone calls

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        je      f.cold
        xorl    %eax, %eax
back:   popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movl    $3, %eax
        popq    %rbp
        .cfi_def_cfa_offset 16
        .cfi_restore %rbp
        jmp     back
        .cfi_endproc
        .size   f.cold, .-f.cold
