/* -fsplit-stack: a function that needs more room is called again on a new segment, and returns through __morestack. */
#include <stdio.h>

__attribute__((noinline)) static int deep(int n)
{
    volatile char room[3000];
    room[n % 3000] = (char)n;
    return n == 0 ? room[0] : deep(n - 1) + 1 + (room[n % 3000] - (char)n);
}

int main(void)
{
    printf("%d\n", deep(40) + deep(60));
    return 0;
}
