// summary: a realigned frame whose epilogue has the caller's SP in another register than the table says
// exit: 12
// recipes: gcc-O2
// flags: -frename-registers
// wrong: work+0x69..work+0x77
// traits: REALIGNED
// frames: work = work, main, _start

// GCC's -frename-registers, which -funroll-loops turns on. The register that leads to the CFA is renamed where the
// epilogue loads it, and not in the row: that names the register of the prologue, which holds something else by then.
volatile int size = 4;

__attribute__((noinline)) int work(int n) {
    _Alignas(32) volatile int here = n;
    volatile int array[size];
    array[n] = n + 5;
    array[0] = n;
    return array[n] + here + array[0] + here;
}

int main(void) {
    _Alignas(32) volatile int one = 1;
    return work(one) + size - one;
}
