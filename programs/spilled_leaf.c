// summary: a leaf that makes room on the stack on one of its two ways only, below a caller with a frame pointer
// exit: 29
// recipes: gcc-O2
// frames: leaf = leaf, middle, main, _start

volatile int input = 3;

// Volatile locals lie on the stack; what does not come there has no frame, and saves nothing.
__attribute__((noinline)) int leaf(int x) {
    if (x & 1) return (x + 5) * 2;
    volatile int kept = x;
    return kept + 2;
}

// A room of unknown size: the frame counts from the frame pointer, whatever SP a callee gives back.
__attribute__((noinline)) int middle(int x) {
    volatile char room[x];
    room[0] = 1;
    return leaf(x) + leaf(x + 7) + room[0];
}

int main(void) {
    int found = middle(input);
    return found + input - 3;
}
