// summary: two inlined levels between a caller and a callee: they are in no activation, only in the debug information
// exit: 57
// frames: leaf = leaf, caller, main, _start
// frames: caller = caller, main, _start

volatile unsigned seed = 4;

__attribute__((noinline)) unsigned leaf(unsigned x) {
    seed = x;
    return x * x + 1;
}

static inline __attribute__((always_inline)) unsigned inner(unsigned x) {
    unsigned first = leaf(x + 1);
    unsigned second = leaf(x);
    return first + second + seed;
}

static inline __attribute__((always_inline)) unsigned outer(unsigned x) {
    return inner(x) + 2;
}

__attribute__((noinline)) unsigned caller(unsigned x) {
    unsigned result = outer(x);
    return result + seed;
}

int main(void) {
    unsigned result = caller(seed);
    seed = result;
    return (int)result + 4;
}
