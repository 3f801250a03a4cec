// summary: a call that never returns is the last instruction: its return address lies behind its function
// exit: 33
// recipes: clang-*, gcc-*, macho-*
// trap: 3 libunwind/libunwind#54, libunwind/libunwind#131, OP-TEE/optee_os#3992, swiftlang/llvm-project#14040
// frames: finish = finish, work, main, _start
// frames: work = work, main, _start
// frames: helper = helper, work, main, _start

volatile unsigned seed = 11;

__attribute__((noinline)) unsigned helper(unsigned x) {
    seed = x + 1;
    return 2 * x;
}

// finish(status) exits with *status. It is assembly because of arm32: the system call takes its number in r7, which
// belongs to the caller, and where r7 is the frame pointer C cannot say that it is saved first.
__attribute__((noreturn)) void finish(const volatile unsigned *status);

#ifdef __MACH__ // no types and sizes there, and every C name has an underscore in front
#define BEGIN "_finish:\n"
#define END ""
#else
#define BEGIN ".type finish, %function\nfinish:\n"
#define END ".size finish, . - finish\n"
#endif

#if defined(__x86_64__)
__asm__(".intel_syntax noprefix\n"
        BEGIN
        "    .cfi_startproc\n"
        "    mov edi, dword ptr [rdi]\n"
        "    mov eax, 0x3c\n"
        "    syscall\n"
        "    .cfi_endproc\n"
        END
#ifndef __clang__ // what GCC writes goes on in its own dialect
        ".att_syntax prefix\n"
#endif
);
#elif defined(__aarch64__)
__asm__(BEGIN
        "    .cfi_startproc\n"
        "    ldr w0, [x0]\n"
        "    mov x8, #0x5d\n"
        "    svc #0\n"
        "    .cfi_endproc\n"
        END);
#elif defined(__arm__)
__asm__(".syntax unified\n"
        ".cfi_sections .debug_frame\n"
        BEGIN
        "    .fnstart\n"
        "    .cfi_startproc\n"
        "    push {r7, lr}\n"
        "    .save {r7, lr}\n"
        "    .cfi_def_cfa_offset 8\n"
        "    .cfi_offset lr, -4\n"
        "    .cfi_offset r7, -8\n"
        "    ldr r0, [r0]\n"
        "    mov r7, #1\n"
        "    svc #0\n"
        "    .cfi_endproc\n"
        "    .fnend\n"
        END);
#else
#error "finish() has no exit system call for this architecture"
#endif

// The status is handed over in memory of this frame, so finish() cannot be reached by a tail call.
__attribute__((noinline)) void work(unsigned x) {
    volatile unsigned status = helper(x) + x;
    finish(&status);
}

__attribute__((noinline)) unsigned behind(unsigned x) {
    return x ^ seed;
}

int main(void) {
    work(seed);
    return (int)behind(1);
}
