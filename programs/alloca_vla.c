// summary: frames whose size is known at run time only: alloca in a loop, and a variable-length array
// exit: 89
// recipes: clang-*, gcc-*, macho-*, probes-*
// frames: with_alloca = with_alloca, main, _start
// frames: fill#1 = fill, with_alloca, main, _start
// frames: fill#2 = fill, with_alloca, main, _start
// frames: with_vla = with_vla, main, _start
// frames: fill#3 = fill, with_vla, main, _start

volatile unsigned length = 5;

__attribute__((noinline)) unsigned fill(volatile unsigned *words, unsigned count) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        words[i] = count + i;
        sum += words[i];
    }
    return sum;
}

__attribute__((noinline)) unsigned with_alloca(unsigned count) {
    unsigned sum = 0;
    for (unsigned round = 1; round < 3; round++) {
        sum += fill(__builtin_alloca(4 * count * round), count);
    }
    return sum;
}

__attribute__((noinline)) unsigned with_vla(unsigned count) {
    volatile unsigned words[count];
    unsigned sum = fill(words, count);
    return sum + words[0] - words[count - 1];
}

int main(void) {
    unsigned sum = with_alloca(length);
    sum += with_vla(length - 1);
    return (int)sum;
}
