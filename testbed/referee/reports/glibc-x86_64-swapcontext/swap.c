#include <ucontext.h>

static ucontext_t here, there;
static char stack[65536];

static void other(void) { swapcontext(&there, &here); }

int main(void)
{
    register long kept asm("r12") = 42;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, other, 0);
    asm volatile("" : "+r"(kept));
    swapcontext(&here, &there);
    asm volatile("" : "+r"(kept));
    return kept != 42;
}
