// summary: tail calls that meet again: a diamond, and two functions that tail-call each other. The way leaves no trace
// exit: 49
// frames: leaf = leaf, meet, main, _start
// logical: meet#1 = meet, <left>, <choose>, main, _start
// logical: meet#2 = meet, <right>, <choose>, main, _start
// logical: leaf#2 = leaf, meet, <right>, <choose>, main, _start
// logical: pong#1 = pong, <ping>, main, _start
// logical: ping#2 = ping, <pong>, <ping>, main, _start
// logical: done = done, <ping>, <pong>, <ping>, <pong>, <ping>, main, _start
// recipes: clang-O0, clang-O2, clang-O2-fp, clang-thumb-O0, clang-thumb-O2, gcc-O0, gcc-O2*, gcc-thumb-O2

#ifdef __clang__
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return // gcc before 15 has no such attribute, and makes the tail calls at -O2
#endif
#define FUNCTION __attribute__((noinline)) unsigned

volatile unsigned seed = 1;

FUNCTION leaf(unsigned x) {
    seed = seed + 1;
    return x + 3;
}

FUNCTION meet(unsigned x) {
    unsigned y = leaf(x);
    seed = 0;
    return y + 4;
}

FUNCTION left(unsigned x) {
    seed = seed + 2;
    TAIL meet(x + 1);
}

FUNCTION right(unsigned x) {
    seed = seed + 3;
    TAIL meet(x + 2);
}

FUNCTION choose(unsigned x) {
    if (seed)
        TAIL left(x);
    TAIL right(x);
}

FUNCTION pong(unsigned x);

FUNCTION done(unsigned x) {
    seed = x;
    return x + 20;
}

FUNCTION ping(unsigned x) {
    seed = seed + x;
    if (x == 0)
        TAIL done(x);
    TAIL pong(x - 1);
}

FUNCTION pong(unsigned x) {
    seed = seed + 2 * x;
    TAIL ping(x - 1);
}

int main(void) {
    unsigned result = choose(2);
    result += choose(result);
    result += ping(4);
    seed = result;
    return (int)result;
}
