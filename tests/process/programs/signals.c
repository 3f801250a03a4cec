/* Signals: sent, nested, with siginfo, on an alternate stack, from faults; handlers that return, jump out, and edit
   the registers that they return to. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t order[32], count;
static sigjmp_buf out;
static char *page;

static void note(int what) { order[count++] = what; }

static void inner(int number) { note(200 + number); }

static void outer(int number) {
    note(100 + number);
    raise(SIGUSR2);
    note(150 + number);
}

static void with_info(int number, siginfo_t *info, void *context) {
    note(300 + number);
    if (number == SIGSEGV) {
        note(info->si_addr == page + 16 ? 1 : 2);
        note(info->si_code);
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    } else {
        note(info->si_code == SI_USER || info->si_code == SI_TKILL ? 3 : 4);
        note(info->si_pid == getpid() ? 5 : 6);
    }
}

static void on_other_stack(int number) {
    char here;
    stack_t now;
    sigaltstack(NULL, &now);
    note(now.ss_flags == SS_ONSTACK && &here > (char *)now.ss_sp && &here < (char *)now.ss_sp + now.ss_size ? 7 : 8);
}

static void jumps_out(int number) {
    note(400 + number);
    siglongjmp(out, 1);
}

static void skips(int number, siginfo_t *info, void *context) {
    ucontext_t *interrupted = context;
    note(500 + number);
#if defined __x86_64__
    interrupted->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
#elif defined __aarch64__
    interrupted->uc_mcontext.pc += 4;
#else
    interrupted->uc_mcontext.arm_pc += interrupted->uc_mcontext.arm_cpsr & 0x20 ? 2 : 4;
#endif
}

static void undefined_instruction(void) {
#if defined __x86_64__
    __asm__ volatile("ud2");
#elif defined __aarch64__
    __asm__ volatile("udf #0");
#elif defined __thumb__
    __asm__ volatile("udf #0");
#else
    __asm__ volatile(".inst 0xe7f000f0");
#endif
}

static int compare(const void *a, const void *b) {
    if (*(const int *)a == 3) raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

static void handle_with_info(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(number, &action, NULL);
}

int main(void) {
    volatile double kept = 1.25;
    handle(SIGUSR1, outer, 0);
    handle(SIGUSR2, inner, 0);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);

    int values[] = {5, 3, 1};
    qsort(values, 3, sizeof *values, compare);

    handle_with_info(SIGTERM, with_info);
    raise(SIGTERM);

    stack_t other = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
    sigaltstack(&other, NULL);
    handle(SIGHUP, on_other_stack, SA_ONSTACK);
    raise(SIGHUP);

    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle_with_info(SIGSEGV, with_info);
    page[16] = 9;
    note(page[16]);

    handle(SIGSEGV, jumps_out, 0);
    if (!sigsetjmp(out, 1)) *(volatile int *)8 = 1;
    handle(SIGINT, jumps_out, SA_ONSTACK);
    if (!sigsetjmp(out, 1)) raise(SIGINT);

    handle_with_info(SIGILL, skips);
    undefined_instruction();

    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    raise(SIGUSR2);
    note(600);
    sigprocmask(SIG_SETMASK, &before, NULL);
    note(601);

    for (int i = 0; i < count; i++) printf("%d ", (int)order[i]);
    printf("%.2f\n", kept);
    fflush(stdout);
    handle(SIGTERM, SIG_DFL, 0);
    kill(getpid(), SIGTERM);
    return 1;
}
