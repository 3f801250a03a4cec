// summary: a 20 KiB frame: on ARM two instructions move SP, and locals are out of reach of short offsets
// exit: 120
// recipes: clang-*, gcc-*, macho-*, probes-*
// frames: fill = fill, big, main, _start
// frames: big = big, main, _start

enum { SIZE = 20 * 1024 + 52, STRIDE = 1365 };

volatile unsigned first = 1;

__attribute__((noinline)) void fill(volatile unsigned char *bytes, unsigned value) {
    for (unsigned i = 0; i < SIZE; i += STRIDE) {
        bytes[i] = (unsigned char)value++;
    }
}

// The odd size needs two instructions that move SP on ARM, so there is a site between them.
__attribute__((noinline)) unsigned big(void) {
    volatile unsigned char bytes[SIZE];
    unsigned sum = 0;
    fill(bytes, first);
    for (unsigned i = 0; i < SIZE - STRIDE; i += STRIDE) {
        sum += bytes[i];
    }
    return sum;
}

int main(void) {
    unsigned sum = big();
    first = sum;
    return (int)sum;
}
