/* Coroutines by makecontext and swapcontext, each on a stack of its own, one of which ends into another. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t back, first, second;
static int steps;

__attribute__((noinline)) static void yield(ucontext_t *from, ucontext_t *to) {
    steps++;
    swapcontext(from, to);
}

static void run_first(int a, int b) {
    for (int i = 0; i < 3; i++) {
        printf("first %d %d\n", i, a + b);
        yield(&first, &second);
    }
}

static void run_second(void) {
    for (int i = 0; i < 3; i++) {
        printf("second %d\n", i);
        yield(&second, &first);
    }
}

int main(void) {
    getcontext(&first);
    first.uc_stack.ss_sp = malloc(65536);
    first.uc_stack.ss_size = 65536;
    first.uc_link = &second;
    makecontext(&first, (void (*)(void))run_first, 2, 20, 3);
    getcontext(&second);
    second.uc_stack.ss_sp = malloc(65536);
    second.uc_stack.ss_size = 65536;
    second.uc_link = &back;
    makecontext(&second, run_second, 0);
    yield(&back, &first);
    printf("done %d\n", steps);
    return 0;
}
