// summary: stack-clash protection: frames of 64 KiB, fixed and not, whose prologues touch every page on the way
// exit: 90
// recipes: clang-O0, clang-O2, clang-O2-fp, clang-thumb-O2, probes-*
// trap: 23 llvm/llvm-project#66524, openssl/openssl#8853
// frames: fill#1 = fill, fixed, main, _start
// frames: fill#2 = fill, sized, main, _start

#define NOINLINE __attribute__((noinline))

enum { SIZE = 64 * 1024, STEP = 4096 };

volatile int start = 16;

// fill(bytes, size): one byte of each page, and how many there were
NOINLINE int fill(volatile char *bytes, int size) {
    int count = 0;
    for (int i = 0; i < size; i += STEP) {
        bytes[i] = (char)i;
        count++;
    }
    return count;
}

NOINLINE int fixed(void) {
    volatile char bytes[SIZE];
    int count = fill(bytes, SIZE);
    return count + bytes[0];
}

NOINLINE int sized(int pages) {
    volatile char bytes[pages * STEP];
    int count = fill(bytes, pages * STEP);
    return count + bytes[0];
}

int main(void) {
    int all = fixed();
    return all + sized(start + 2) + 56;
}
