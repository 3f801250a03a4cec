// summary: room to patch at each function's entry: GCC begins the table entry behind it
// exit: 7
// recipes: nops-*
// untabled: leaf..leaf+0x8, main..main+0x8
// frames: leaf = leaf, main, _start

// GCC lets the debug information of a function begin behind the room, too.
volatile int input = 3;

__attribute__((noinline)) int leaf(int x) { return x + 4; }

int main(void) {
    int found = leaf(input);
    return found + input - 3;
}
