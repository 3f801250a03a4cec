// summary: Clang's preserve_most, preserve_all and preserve_none: functions that keep nearly all registers, or none
// exit: 85
// recipes: clang-O*, clang-thumb-O2
// convention: keeps_most=preserve_most, keeps_all=preserve_all, keeps_none=preserve_none
// frames: keeps_most#1 = keeps_most, main, _start
// frames: keeps_all#2 = keeps_all, main, _start
// frames: keeps_none#3 = keeps_none, main, _start
// frames: plain#1 = plain, keeps_most, main, _start

#ifndef __arm__
#define KEEPS(which) __attribute__((noinline, which))
#else
#define KEEPS(which) __attribute__((noinline))
#endif

static volatile int cells[4] = {1, 2, 3, 4};

__attribute__((noinline)) static int plain(int x) {
    return cells[x & 3] + x;
}

KEEPS(preserve_most) static int keeps_most(int x) {
    cells[0] = x;
    return plain(x) + plain(x + 1);
}

// On x86_64 it calls nothing: behind the saves of xmm0 to xmm15, which a call needs, LLVM's rows come late.
KEEPS(preserve_all) static int keeps_all(int x) {
    cells[1] = x;
#ifdef __x86_64__
    return cells[(x + 1) & 3] + cells[x & 3] + 2 * x + 1;
#else
    return plain(x + 1) + plain(x);
#endif
}

KEEPS(preserve_none) static int keeps_none(int x) {
    int first = plain(x), second = plain(x + 2), third = plain(x + 3);
    return first + second + third;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += keeps_most(i) + keeps_all(i) + keeps_none(i);
    return sum;
}
