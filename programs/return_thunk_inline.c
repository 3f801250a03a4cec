// summary: every return is a thunk of its function's own: a call into itself whose return address is taken off
// exit: 7
// recipes: inline-thunk-*
// wrong: leaf+0x1a..leaf+0x20, main+0x33..main+0x39
// frames: leaf = leaf, main, _start

// GCC's -mfunction-return=thunk-inline. GCC writes no rows behind the epilogue's pop: the call of the thunk overwrites
// the word below SP in which they still look for the frame pointer, and behind the thunk's last but one instruction they
// count a word that is gone.
volatile int input = 3;

__attribute__((noinline)) int leaf(int x) { return x + 4; }

int main(void) {
    int found = leaf(input);
    return found + input - 3;
}
