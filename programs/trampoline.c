// summary: a nested function whose address is taken: the compiler writes code to the stack, and the call goes through it
// exit: 16
// recipes: gcc-*
// frames: apply = apply, outer, main, _start
// frames: nested = nested, apply, outer, main, _start

// GCC's trampoline loads the static chain and jumps. Its instructions are in no file: no symbol, no table, no module.
volatile int start = 3;

// What GCC calls on ARM after it wrote code: libgcc's, which is a system call there.
void __clear_cache(void *begin, void *end) { (void)begin, (void)end; }

__attribute__((noinline)) int apply(int (*function)(int), int x) {
    int found = function(x);
    return found + 1;
}

__attribute__((noinline)) int outer(int base) {
    auto int nested(int x) __asm__("nested");
    __attribute__((noinline)) int nested(int x) {
        base += x;
        return base;
    }
    int found = apply(nested, start);
    return found + base;
}

int main(void) {
    int found = outer(start);
    return found + start;
}
