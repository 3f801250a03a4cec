// Code of a macro that repeats something: its directives have no place that is followed, at its last use as at others.
//
// case: no rows
// | it: 2 of 2 functions have code without a row; all 6 instructions were executed; 6 have no row.
// | error `trampoline %rdi, %rax`, at +0, 2: `trampoline %rdi, %rax` in trampoline, -9; f < nothing more; tried: it makes 3 instructions right and none wrong
// | f (movq %rdi, %rax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before `movq %rdi, %rax`, and `.cfi_endproc` before the end of f; no patch is given: its place is in what the assembler repeats, chooses or includes (`.rept`, `.if`, `.include`) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `trampoline %rsi, %rax`, at +0, 2: `trampoline %rsi, %rax` in trampoline, -14; g < nothing more; tried: it makes 3 instructions right and none wrong
// | g (movq %rsi, %rax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before `movq %rsi, %rax`, and `.cfi_endproc` before the end of g; no patch is given: its place is in what the assembler repeats, chooses or includes (`.rept`, `.if`, `.include`) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 3, 3 executed, 3 without row, all came back
// | g: 3, 3 executed, 3 without row, all came back
// | as is advised: it: 2 of 2 functions have code without a row; all 6 instructions were executed; 6 have no row.

 .macro trampoline one, other
 .rept 2
 movq \one, \other
 .endr
 ret
 .endm

 .text
 .globl f
 .type f, @function
f:
 trampoline %rdi, %rax
 .size f, . - f
 .globl g
 .type g, @function
g:
 trampoline %rsi, %rax
 .size g, . - g
