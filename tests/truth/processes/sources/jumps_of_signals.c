/* sigsetjmp, which musl returns from twice through a function of its own, and setjmp; longjmp from two calls further in. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf with_mask;
static jmp_buf plain;

__attribute__((noinline)) static int deep(int n, int which)
{
    if (n)
        return deep(n - 1, which) + 1;
    if (which)
        siglongjmp(with_mask, which);
    longjmp(plain, 5);
}

static void handler(int number)
{
    siglongjmp(with_mask, number);
}

__attribute__((noinline)) static int attempt(int mask, int which)
{
    int said = sigsetjmp(with_mask, mask);
    return said ? said : deep(3, which);
}

int main(void)
{
    int all = 0;
    signal(SIGUSR1, handler);
    for (int mask = 0; mask < 2; mask++)
        all += attempt(mask, 7);
    if (!setjmp(plain))
        deep(2, 0);
    if (!sigsetjmp(with_mask, 1))
        raise(SIGUSR1);
    printf("%d\n", all);
    return 0;
}
