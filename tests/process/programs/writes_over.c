// A function writes over its caller's saved register and puts it back, as what loads another frame's registers does.
#include <stdio.h>

__asm__(".globl caller\n"
        ".type caller, @function\n"
        "caller:\n"
        ".cfi_startproc\n"
        "push %rbx\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset rbx, -16\n"
        "mov $5, %ebx\n"
        "call writes_over\n"
        "lea (%rbx, %rax), %eax\n"
        "pop %rbx\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore rbx\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size caller, . - caller\n"
        ".type writes_over, @function\n"
        "writes_over:\n"
        ".cfi_startproc\n"
        "mov 8(%rsp), %rcx\n"
        "movq $0x1234, 8(%rsp)\n"
        "mov $2, %eax\n"
        "mov %rcx, 8(%rsp)\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size writes_over, . - writes_over\n");

int caller(void);

int main(void) {
    printf("%d\n", caller());
    return 0;
}
