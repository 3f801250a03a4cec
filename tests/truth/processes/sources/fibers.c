/* Boost.Context's assembly, as boost::context::fiber uses it: fibers that are made, switched to, resumed with a function on
   top of their stacks, and that end by a switch to somebody else. */
#include <stdio.h>
#include <stdlib.h>

typedef void *fcontext_t;
typedef struct { fcontext_t from; void *data; } transfer_t;
extern fcontext_t make_fcontext(void *top, size_t size, void (*)(transfer_t));
extern transfer_t jump_fcontext(fcontext_t to, void *data);
extern transfer_t ontop_fcontext(fcontext_t to, void *data, transfer_t (*)(transfer_t));

enum { SIZE = 65536 };

static transfer_t on_top(transfer_t given)
{
    *(int *)given.data += 100;
    return given;
}

__attribute__((noinline)) static fcontext_t deeper(fcontext_t to, int *value, int n)
{
    if (n)
        return deeper(to, value, n - 1);
    *value += 1;
    return jump_fcontext(to, value).from;
}

static void fiber(transfer_t given)
{
    for (int n = 0; n < 4; n++)
        given.from = deeper(given.from, given.data, n);
    jump_fcontext(given.from, given.data);
    abort();
}

int main(void)
{
    int value = 0;
    fcontext_t one = make_fcontext((char *)malloc(SIZE) + SIZE, SIZE, fiber);
    fcontext_t two = make_fcontext((char *)malloc(SIZE) + SIZE, SIZE, fiber);
    for (int n = 0; n < 5; n++) {
        one = (n % 2 ? ontop_fcontext(one, &value, on_top) : jump_fcontext(one, &value)).from;
        two = jump_fcontext(two, &value).from;
    }
    printf("%d\n", value);
    return 0;
}
