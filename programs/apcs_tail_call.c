// summary: a tail call out of a frame of the old procedure call standard, which pops the caller's SP
// exit: 6
// recipes: apcs-O2
// wrong: work+0x1c..work+0x20
// frames: work = work, main, _start

// GCC's -mapcs-frame. The epilogue loads fp, sp and lr from the stack: SP is the caller's at once. GCC counts the three
// words as popped from it all the same (arm_emit_multi_reg_pop), so the row of the jump has a CFA of SP + 4. Where a
// function returns the load is its last instruction, and no row comes behind it.
volatile int input = 2;

__attribute__((noinline)) int last(int x) { return x + 3; }

__attribute__((noinline)) int work(int x) {
    int first = last(x) - 2;
    return last(first);
}

int main(void) {
    int found = work(input);
    return found + input - 2;
}
