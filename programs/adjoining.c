// summary: a function right in front of another one,
//   and a table without an index that names that other one first
// exit: 22
// recipes: gcc-Os
// flags: -fno-toplevel-reorder -Wl,--no-eh-frame-hdr
// frames: leaf = leaf, middle, main, _start

// GCC puts `main` into a section that the linker places in front of all other code, so it ends where `_start` begins,
// whose entry stands before its own; those of the functions that it calls come behind it. GCC links static programs so.
volatile int input = 3;

__attribute__((noinline)) int middle(int x);

int main(void) { return middle(input) + input; }

__attribute__((noinline)) int leaf(int x) { return x * 5 + input; }

__attribute__((noinline)) int middle(int x) { return leaf(x) + 1; }
