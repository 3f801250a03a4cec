// summary: returns under a condition, with more instructions than one "it" covers: a second one stands in the epilogue
// exit: 118
// recipes: clang-thumb-O2
// flags: -fstack-protector-all -mstack-protector-guard=global
// frames: work = work, main, _start

// LLVM's ARM back end writes no rows for epilogues. Where the word on the stack is right, the function returns: all of the
// epilogue is under that condition, and between the instruction that gives the locals back and the pop stands another it.
unsigned long __stack_chk_guard = 0x5a00ffa5;
void __stack_chk_fail(void) { __builtin_trap(); }

volatile int input = 3;

__attribute__((noinline)) int work(int x) {
    volatile int local = x;
    return (((x * 5) ^ 2) + (x << 4)) * x - ((x + 7) ^ 0x41);
}

int main(void) {
    int found = work(input);
    return (((found * 5) ^ 2) + (found << 4)) * found - ((found + 7) ^ 0x41);
}
