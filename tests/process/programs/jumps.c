/* longjmp over several frames, again and again, and out of recursion. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf place, inner;

__attribute__((noinline)) static int deep(int depth, int value) {
    volatile char room[64];
    room[depth % 64] = (char)value;
    if (!depth) longjmp(place, value);
    return deep(depth - 1, value) + room[depth % 64];
}

__attribute__((noinline)) static int retried(int times) {
    volatile int tries = 0;
    int back = setjmp(inner);
    if (++tries < times) longjmp(inner, tries);
    return back;
}

int main(void) {
    volatile int sum = 0;
    for (volatile int i = 1; i <= 8; i++) {
        int value = setjmp(place);
        if (!value) deep(3 + i, i);
        sum += value * 10;
    }
    printf("%d %d\n", sum, retried(5));
    return 0;
}
