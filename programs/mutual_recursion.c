// summary: two functions that call each other, with frames of different sizes
// exit: 90
// frames: even#1 = even, main, _start
// frames: odd#1 = odd, even, main, _start
// frames: even#2 = even, odd, even, main, _start
// frames: odd#3 = odd, even, odd, even, odd, even, main, _start

unsigned odd(unsigned n);

volatile unsigned start = 6;
volatile unsigned steps;

__attribute__((noinline)) unsigned even(unsigned n) {
    unsigned below = n ? odd(n - 1) : 1;
    steps = steps + 1;
    return below + n;
}

__attribute__((noinline)) unsigned odd(unsigned n) {
    volatile unsigned kept[5];
    kept[n & 3] = n;
    unsigned below = n ? even(n - 1) : 0;
    steps = steps + 2;
    return below + 2 * kept[n & 3] + n;
}

int main(void) {
    unsigned sum = even(start);
    return (int)(2 * sum + steps);
}
