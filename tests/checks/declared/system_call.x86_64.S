// A system call of x86_64 leaves where it was made in rcx, and the flags in r11: what lay there is gone.
//
// case: the return address lies in rcx, and a callee-saved register in r11
// | it: 2 of 2 functions have a wrong row; all 14 instructions were executed.
// | error `push %rdx`, at -1, 9: `syscall`; f < no code (what is in %rcx); tried: it makes 1 instruction right and none wrong
// | f+0xb (push %rdx): the caller is lost: the row says %rip is in %rcx, the caller's %rip is at CFA-8: add `.cfi_offset %rip, -8` behind line 10 (.eh_frame; seen when it was executed)
// | warning `mov %rbx, %rax`, at -1, 9: `syscall`; g < caller (%rbx wrong) < main; tried: it makes 2 instructions right and none wrong
// | g+0xd (mov %rbx, %rax): %rbx is shown wrong in the caller: the row says %rbx is in %r11, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 27 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 6, 6 executed, all came back
// | g: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.
// case: in others
// -         pop %rcx
// +         pop %rdx
// -         .cfi_register %rip, %rcx
// -         mov %rcx, %rdx
// +         .cfi_register %rip, %rdx
// -         mov %rbx, %r11
// +         mov %rbx, %r10
// -         .cfi_register %rbx, %r11
// +         .cfi_register %rbx, %r10
// | it: every row is right; all 13 instructions were executed.
// | f: 5, 5 executed, all came back
// | g: 8, 8 executed, all came back

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pop %rcx
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rcx
        mov %rcx, %rdx
        mov $39, %eax
        syscall
        push %rdx
        .cfi_def_cfa_offset 8
        .cfi_offset %rip, -8
        ret
        .cfi_endproc
        .size f, .-f
        .globl g
        .type g, @function
g:      .cfi_startproc
        push %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        mov %rbx, %r11
        .cfi_register %rbx, %r11
        mov $39, %eax
        xor %ebx, %ebx
        syscall
        mov %rbx, %rax
        pop %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size g, .-g
