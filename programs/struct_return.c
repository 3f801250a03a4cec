// summary: a 40-byte structure returned by value through memory of the caller (sret), two levels deep
// exit: 208
// recipes: clang-*, gcc-*, macho-*
// frames: make = make, shift, main, _start
// frames: shift = shift, main, _start
// frames: sum = sum, main, _start

struct large {
    unsigned word[10];
};

volatile unsigned seed = 3;

__attribute__((noinline)) struct large make(unsigned first) {
    struct large made;
    for (unsigned i = 0; i < 10; i++) {
        made.word[i] = first + i * seed;
    }
    return made;
}

__attribute__((noinline)) struct large shift(unsigned first) {
    struct large made = make(first);
    made.word[9] += seed;
    return made;
}

__attribute__((noinline)) unsigned sum(const struct large *large) {
    unsigned total = seed;
    for (unsigned i = 0; i < 10; i++) {
        total += large->word[i];
    }
    return total;
}

int main(void) {
    struct large made = shift(seed + 4);
    unsigned total = sum(&made);
    return (int)(total - seed);
}
