// summary: a chain of two tail calls: exactly one way leads from the call to the function that executes
// exit: 139
// frames: last = last, main, _start
// frames: leaf = leaf, last, main, _start
// logical: first = first, main, _start
// logical: second = second, <first>, main, _start
// logical: last = last, <second>, <first>, main, _start
// logical: leaf = leaf, last, <second>, <first>, main, _start
// recipes: clang-O0, clang-O2, clang-O2-fp, clang-thumb-O0, clang-thumb-O2, gcc-O0, gcc-O2*, gcc-thumb-O2

#ifdef __clang__
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return // gcc before 15 has no such attribute, and makes the tail calls at -O2
#endif
#define FUNCTION __attribute__((noinline)) unsigned

volatile unsigned seed = 6;

FUNCTION leaf(unsigned x) {
    seed = seed + 1;
    return x * 3;
}

FUNCTION last(unsigned x) {
    unsigned y = leaf(x + 1);
    seed = y;
    return y + 7;
}

FUNCTION second(unsigned x) {
    seed = seed + 2;
    TAIL last(x + 9);
}

FUNCTION first(unsigned x) {
    unsigned y = seed;
    TAIL second(x + y);
}

int main(void) {
    unsigned result = first(seed);
    result += seed;
    return (int)result;
}
