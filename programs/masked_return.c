// summary: a reloaded return address is masked, so that a mispredicted path returns nowhere: the row comes behind that
// exit: 7
// recipes: masked-*
// wrong: main+0x4c..main+0x54
// frames: leaf = leaf, main, _start

// Speculative load hardening: LLVM puts its "and x30, x30, x16" between the load that pops the frame and the row of it.
volatile int input = 3;

__attribute__((noinline)) int leaf(int x) { return x + 4; }

int main(void) {
    int found = leaf(input);
    return found + input - 3;
}
