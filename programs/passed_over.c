// summary: functions with a frame on one of their two ways, which go the other way, into the code behind it
// exit: 25
// recipes: clang-thumb-O2
// flags: -mrestrict-it
// frames: reader = reader, middle, main, _start
// frames: leaf = leaf, above, main, _start

// LLVM's ARM back end writes call frame information in prologues only: the row of the frame goes on behind its epilogue.
volatile int input = 3;

__attribute__((noinline)) int read_at(volatile int *at) { return *at; }

__attribute__((noinline)) int reader(int x) {
    if (x & 1) return (x + 5) * 2;
    volatile int kept[3] = {x, x, x};
    return read_at(kept) + 2;
}

// What the row takes for a saved return address is a word of this room, which nobody wrote.
__attribute__((noinline)) int middle(int x) {
    volatile char room[x + 61];
    room[0] = 1;
    return reader(x) + room[0];
}

// A frame without a return address in it: its row is wrong about the CFA alone.
__attribute__((noinline)) int leaf(int x) {
    if (x & 1) return (x + 5) * 2;
    volatile int kept = x;
    return kept + 2;
}

__attribute__((noinline)) int above(int x) {
    volatile char room[x + 61];
    room[0] = 1;
    return leaf(x) - room[0];
}

int main(void) {
    int found = middle(input) + above(input) - 10;
    return found + input;
}
