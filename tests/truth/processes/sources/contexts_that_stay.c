/* Contexts of which one returns to its maker's uc_link, and the others never return: they are left in the middle. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACKS = 3, SIZE = 65536 };
static ucontext_t here, there[STACKS];
static int sum;

__attribute__((noinline)) static int deeper(int which, int n)
{
    if (n == 0)
        swapcontext(&there[which], &here);
    return n == 0 ? which : deeper(which, n - 1) + 1;
}

static void work(int which)
{
    for (int n = 1; n < (which ? 1000 : 4); n++)
        sum += deeper(which, n);
}

int main(void)
{
    for (int i = 0; i < STACKS; i++) {
        getcontext(&there[i]);
        there[i].uc_stack.ss_sp = malloc(SIZE);
        there[i].uc_stack.ss_size = SIZE;
        there[i].uc_link = &here;
        makecontext(&there[i], (void (*)(void))work, 1, i);
    }
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < STACKS; i++)
            if (i || round < 4)
                swapcontext(&here, &there[i]);
    printf("%d\n", sum);
    return 0;
}
