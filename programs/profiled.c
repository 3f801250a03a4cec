// summary: every function calls the profiler first, with its return address pushed for it
// exit: 7
// recipes: profiled-*
// wrong: main+0x8..main+0xc, leaf+0x4..leaf+0x8
// frames: leaf = leaf, main, _start

// GCC's -pg on ARM: push {lr}, then a call of __gnu_mcount_nc, which takes the word off the stack and puts it back into
// lr. GCC writes no row for the push.
__asm__(".syntax unified\n.cfi_sections .debug_frame\n.globl __gnu_mcount_nc\n.type __gnu_mcount_nc, %function\n"
        "__gnu_mcount_nc:\n.fnstart\n.cfi_startproc\n"
        "push {lr}\n.save {lr}\n.cfi_def_cfa_offset 4\n.cfi_offset lr, -4\n"
        "ldr lr, [sp, #4]\n"
        "ldr pc, [sp], #8\n"
        ".cfi_endproc\n.fnend\n.size __gnu_mcount_nc, . - __gnu_mcount_nc\n");

volatile int input = 3;

__attribute__((noinline)) int leaf(int x) { return x + 4; }

int main(void) {
    int found = leaf(input);
    return found + input - 3;
}
