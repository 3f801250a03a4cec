// summary: realigned frames of unknown size one above the other: GCC's epilogue pops the frame pointer that rows count from
// exit: 23
// recipes: gcc-O2
// wrong: work+0x59..work+0x60
// traits: REALIGNED
// frames: work#1 = work, main, _start
// frames: work#3 = work, work, work, main, _start
// trap: 12 https://gcc.gnu.org/bugzilla/show_bug.cgi?id=99334

// What is counted from the frame pointer behind "pop rbp" lies in the caller's frame, which looks just the same.
volatile int depth = 2, size = 4;

__attribute__((noinline)) int work(int n) {
    _Alignas(32) volatile int here = n;
    volatile int array[size];
    array[n] = n + 5;
    int deeper = n ? work(n - 1) : 0;
    return deeper + array[n] + here;
}

int main(void) {
    int found = work(depth);
    return found + depth;
}
