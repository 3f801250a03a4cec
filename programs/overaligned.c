// summary: locals aligned to 64 bytes: the compiler realigns the stack, once in a frame whose size it does not know
// exit: 75
// traits: REALIGNED
// trap: 12 mstange/framehop#48, mstange/framehop#49
// frames: aligned = aligned, main, _start
// frames: fill#1 = fill, aligned, main, _start
// frames: sized = sized, main, _start
// frames: fill#2 = fill, sized, main, _start

#define NOINLINE __attribute__((noinline))

volatile int start = 3;

// fill(a, n): a[i] = i + n, and the sum of all
NOINLINE int fill(int *a, int n) {
    int sum = 0;
    for (volatile int i = 0; i < n; i++) {
        a[i] = i + n;
        sum += a[i];
    }
    return sum;
}

NOINLINE int aligned(int n) {
    _Alignas(64) int a[16];
    int sum = fill(a, n);
    return sum + ((unsigned long)a % 64 == 0) + a[0];
}

NOINLINE int sized(int n) {
    _Alignas(64) int a[16];
    int b[n];
    b[n - 1] = n;
    int sum = fill(a, n + 2);
    return sum + ((unsigned long)a % 64 == 0) + b[n - 1];
}

int main(void) {
    int first = aligned(start);
    return first + sized(start + 1) + start;
}
