// summary: five levels inlined into each other, one of them twice: only the debug information can tell the calls apart
// exit: 98
// frames: leaf#1 = leaf, worker, main, _start
// frames: leaf#2 = leaf, worker, main, _start
// frames: at_deepest = worker, main, _start
// logical: at_deepest = [level5], [level4], [level3], [level2], [level1], worker, main, _start
// logical: at_level2 = [level2], [level1], worker, main, _start
// logical: at_worker = worker, main, _start
// recipes: clang-O0, clang-O2, clang-O2-fp, clang-thumb-O0, clang-thumb-O2, gcc-O0, gcc-O2*, gcc-thumb-O2

// A label stands in the code of exactly one inlined call; the instruction behind it can belong to no other.
#define HERE(label) __asm__ volatile(".globl " #label "\n" #label ":\n\tnop" ::: "memory")
#define INLINED static inline __attribute__((always_inline))

volatile unsigned seed = 3;

__attribute__((noinline)) unsigned leaf(unsigned x) {
    seed = seed + x;
    return x + 1;
}

INLINED unsigned level5(unsigned x) {
    unsigned y = leaf(x + 5);
    HERE(at_deepest);
    return y + seed;
}

INLINED unsigned level4(unsigned x) {
    return level5(x + 4) + seed;
}

INLINED unsigned level3(unsigned x) {
    unsigned y = level4(x) * 3;
    seed = y & 7;
    return y;
}

INLINED unsigned level2(unsigned x) {
    unsigned y = level3(x + 2);
    HERE(at_level2);
    y += leaf(y);
    return y;
}

INLINED unsigned level1(unsigned x) {
    unsigned y = level2(x);
    return y + 1;
}

INLINED unsigned twice(unsigned x) {
    return leaf(x) + seed;
}

__attribute__((noinline)) unsigned worker(unsigned x) {
    unsigned y = level1(x);
    HERE(at_worker);
    y += twice(y & 3);
    y += twice(seed & 7);
    seed = 1;
    return y;
}

int main(void) {
    unsigned result = worker(seed);
    seed = result;
    return (int)(result & 0xff);
}
