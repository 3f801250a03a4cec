// summary: the stack protector: a word between the locals and the return address, checked before every return
// exit: 97
// recipes: guard-*
// frames: fill = fill, sum, main, _start
// frames: sum = sum, main, _start

#define NOINLINE __attribute__((noinline))

// What the C library would bring: the word, and what happens when it has changed.
unsigned long __stack_chk_guard = 0x5a00a5ff;

__attribute__((noreturn)) void __stack_chk_fail(void) {
    for (;;)
        __builtin_trap();
}

volatile int start = 5;

NOINLINE int fill(volatile char *a, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        a[i] = (char)(i + n);
        sum += a[i];
    }
    return sum;
}

NOINLINE int sum(int n) {
    volatile char a[24];
    return fill(a, 2 * n) - 8 * n - a[n];
}

int main(void) { return sum(start) + 7; }
