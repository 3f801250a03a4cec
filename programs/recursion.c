// summary: one function six times on the stack: equal return addresses, different frames
// exit: 187
// recipes: clang-*, gcc-*, macho-*
// frames: descend#1 = descend, main, _start
// frames: descend#3 = descend, descend, descend, main, _start
// frames: descend#6 = descend, descend, descend, descend, descend, descend, main, _start
// frames: bottom = bottom, descend, descend, descend, descend, descend, descend, main, _start

volatile unsigned depth = 5;
volatile unsigned trail[8];

__attribute__((noinline)) unsigned bottom(unsigned x) {
    trail[0] = x;
    return x + 2;
}

// Storing what comes back keeps the call from becoming a loop (tail-recursion elimination with an accumulator).
__attribute__((noinline)) unsigned descend(unsigned n) {
    unsigned below = n ? descend(n - 1) : bottom(n);
    trail[n + 1] = below;
    return 2 * below + n;
}

int main(void) {
    unsigned result = descend(depth);
    for (unsigned i = 0; i < 7; i++) {
        result += trail[i] & 1;
    }
    return (int)result;
}
