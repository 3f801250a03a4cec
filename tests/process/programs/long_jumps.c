/* Returns by longjmp, so often that some transitions begin in one piece of a run and end in the next one. */
#include <setjmp.h>

static jmp_buf back;
static volatile int sum;

__attribute__((noinline)) static void down(int depth) {
    sum += depth;
    if (depth == 0)
        longjmp(back, 1);
    down(depth - 1);
    sum++;
}

int main(void) {
    for (volatile int i = 0; i < 2000; i++)
        if (!setjmp(back))
            down(i % 3);
    return sum & 1;
}
