// summary: a frame of the old procedure call standard with vector registers,
//   which the epilogue loads from another one
// exit: 9
// recipes: apcs-O2
// wrong: work+0x24..work+0x2c
// frames: last = last, work, main, _start

// GCC's -mapcs-frame. The epilogue loads d8 and d9 from ip, then SP from the frame. Behind the load GCC says that the CFA is
// fp again, and with SP sp + 12: a word below it both times (arm_emit_vfp_multi_reg_pop, arm_expand_epilogue_apcs_frame).
// With registers that are not side by side (d8, d9 and d15) it also loads them in another order than they were stored in.
volatile int input = 2;

__attribute__((noinline)) int last(int x) { return x + 3; }

__attribute__((noinline)) int work(int x) {
    __asm__ volatile("" ::: "d8", "d9");
    return last(x) + x;
}

int main(void) {
    int found = work(input);
    return found + input;
}
