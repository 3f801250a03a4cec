// summary: every return goes through a thunk that keeps the processor from guessing where to
// exit: 7
// recipes: thunk-*
// wrong: __x86_return_thunk+0x11..__x86_return_thunk+0x12
// frames: leaf#1 = leaf, main, _start
// frames: leaf#2 = leaf, inner, main, _start

// GCC's -mfunction-return=thunk. The thunk calls its own end, takes the address that this pushed off the stack again, and
// returns. GCC writes no row behind the instruction that takes it off.
volatile int input = 3;

__attribute__((noinline)) int leaf(int x) { return x + 4; }

// A call from a function that was tail-called: who looks for callers' addresses finds none behind the thunk's own.
__attribute__((noinline)) int inner(int x) { return leaf(x) - x; }

__attribute__((noinline)) int outer(int x) { return inner(x + input); }

int main(void) {
    int found = leaf(input);
    return found + input - 3 + outer(input) - 4;
}
