// summary: a function that saves ten SIMD registers behind the
//   instruction that makes room for them
// exit: 7
// recipes: vector-*
// wrong: work+0xb..work+0x51
// frames: clobber = clobber, work, main, _start

// The Windows calling convention asks for it. LLVM writes the row of "sub rsp" behind the stores of SIMD registers that follow it (X86FrameLowering, emitPrologue).
volatile int input = 3;

__attribute__((noinline)) void clobber(void) { __asm__ volatile("" ::: "xmm6", "xmm7"); }

__attribute__((noinline, ms_abi)) int work(int x) {
    __asm__ volatile("" ::: "rbx");
    clobber();
    return x + 4;
}

int main(void) {
    int found = work(input);
    return found;
}
