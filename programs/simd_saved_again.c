// summary: a function that saves SIMD registers behind the room for them,
//   where an earlier call has left a return address
// exit: 22
// recipes: vector-*
// wrong: work+0xa..work+0x49
// frames: clobber = clobber, work, main, _start

// As `simd_saved`: between "sub rsp" and its row, what the row takes for the return address is a word of the new room.
// Here it is the one by which `fill` came back to `earlier`, whose frame ended where that of `work` does.
volatile int input = 3;

__attribute__((noinline)) void clobber(void) { __asm__ volatile("" ::: "xmm6", "xmm7"); }

__attribute__((noinline)) int fill(volatile int *to, int x) { return to[0] = x + 5; }

__attribute__((noinline)) int earlier(int x) {
    volatile int kept[0x98 / sizeof(int)];
    return fill(kept, x) + kept[0] - 1;
}

__attribute__((noinline, ms_abi)) int work(int x) {
    clobber();
    return x + 4;
}

int main(void) {
    int found = earlier(input);
    found += work(input);
    return found;
}
