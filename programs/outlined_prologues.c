// summary: prologues and epilogues that the compiler has outlined: helpers that several functions share
// exit: 73
// recipes: outline-*
// trap: 30 llvm/llvm-project#96950, llvm/llvm-project#189924
// traits: SPLIT_FUNCTION
// wrong: first+0x4..first+0x8, second+0x4..second+0x8, third+0x4..third+0x8, main+0x4..main+0x8,
//   OUTLINED_FUNCTION_EPILOG_TAIL_x19x20x21x22x23x24x30x29..OUTLINED_FUNCTION_EPILOG_TAIL_x19x20x21x22x23x24x30x29+0x10,
//   OUTLINED_FUNCTION_EPILOG_TAIL_x19x20x30x29..OUTLINED_FUNCTION_EPILOG_TAIL_x19x20x30x29+0x8
// frames: leaf#1 = leaf, first, main, _start
// frames: leaf#4 = leaf, second, main, _start

// clang has no row between the push of a frame and the helper's return, and none in the helpers that undo a frame.
#define NOINLINE __attribute__((noinline))

volatile int start = 3;

NOINLINE int leaf(int a, int b) { return start + a - b; }

NOINLINE int first(int a, int b, int c) {
    int x = leaf(a, b), y = leaf(b, c), z = leaf(c, a);
    return x * a + y * b + z * c;
}

NOINLINE int second(int a, int b, int c) {
    int x = leaf(c, b), y = leaf(b, a), z = leaf(a, c);
    return x + y * a - z * b + c;
}

NOINLINE int third(int a, int b, int c) {
    int x = leaf(c, a), y = leaf(b, b), z = leaf(a, a);
    return x + y - z + a * b + c;
}

int main(void) {
    int n = start;
    return first(n, n + 1, n + 2) + second(n, n + 1, n + 2) + third(n, n, n + 1);
}
