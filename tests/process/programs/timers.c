// Timers that send signals, one way each by argument: those that a process has, those that it makes, and signals that
// are queued. What came is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t times, codes, senders, values, overruns, in_handler;
static volatile unsigned work;
static pthread_t who;
static sigjmp_buf out;

static void tell(const char *name, long result) { printf("%s %ld %s\n", name, result, result < 0 ? strerror(errno) : ""); }

static void counts(int number, siginfo_t *info, void *context) {
    times++;
    codes = info->si_code;
    senders = info->si_code == SI_TIMER ? 0 : info->si_pid;
    values = info->si_value.sival_int;
    overruns = info->si_code == SI_TIMER ? info->si_overrun : 0;
    who = pthread_self();
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

static struct itimerval in(long first, long every) {  // microseconds
    return (struct itimerval){{every / 1000000, every % 1000000}, {first / 1000000, first % 1000000}};
}

static void once(void) {
    struct itimerval set = in(3600000000, 0), left;
    tell("alarm", alarm(100));
    tell("alarm", alarm(50));
    getitimer(ITIMER_REAL, &left);
    printf("%d %d\n", left.it_value.tv_sec == 49 || left.it_value.tv_sec == 50, (int)left.it_interval.tv_usec);
    tell("instead", setitimer(ITIMER_REAL, &set, &left));
    printf("%d\n", left.it_value.tv_sec == 49 || left.it_value.tv_sec == 50);
    tell("left", alarm(0));
    tell("none", alarm(0));
    getitimer(ITIMER_PROF, &left);
    printf("%d %d\n", (int)left.it_value.tv_sec, (int)left.it_value.tv_usec);
    tell("no such", setitimer(7, &set, NULL));
    set.it_value.tv_usec = 1000000;
    tell("no time", setitimer(ITIMER_REAL, &set, NULL));
    handle(SIGALRM, counts, 0);
    alarm(1);
    tell("pause", pause());
    printf("%d %d %d\n", times, codes == SI_KERNEL, senders);
    alarm(1);
    struct timespec time = {5, 0}, rest = {0, 0};
    tell("nanosleep", nanosleep(&time, &rest));
    printf("%d\n", rest.tv_sec == 3 || rest.tv_sec == 4);
    alarm(1);
    int ends[2];
    char byte;
    pipe(ends);
    tell("read", read(ends[0], &byte, 1));
    if (!fork()) _exit(alarm(0));  // a child has none
    alarm(100);
    int status;
    wait(&status);
    printf("%d\n", WEXITSTATUS(status));
    tell("left", alarm(0) == 100);
    alarm(1);
    handle(SIGALRM, (void *)SIG_IGN, 0);
    struct timespec longer = {1, 500000000};
    tell("ignored", nanosleep(&longer, NULL));
    handle(SIGALRM, counts, 0);
    printf("%d\n", times);
    signal(SIGALRM, SIG_DFL);
    fflush(stdout);
    alarm(1);
    for (;;) pause();
}

__attribute__((noinline)) static unsigned deep(unsigned depth) {  // a function that a timer interrupts anywhere
    unsigned result = depth ? deep(depth - 1) * 3 + depth : 1;
    work += result;
    return result ^ work;
}

static void jumps(int number) { siglongjmp(out, 1); }

static void again(void) {
    struct itimerval set = in(100, 100), left;
    handle(SIGALRM, counts, SA_RESTART);
    tell("set", setitimer(ITIMER_REAL, &set, NULL));
    while (times < 4) deep(9);
    getitimer(ITIMER_REAL, &left);
    printf("%d %d\n", (int)left.it_interval.tv_usec, left.it_value.tv_usec <= 100);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    int before = times;
    usleep(5000);
    printf("%d ", times - before);
    set = in(0, 0);
    setitimer(ITIMER_REAL, &set, NULL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    printf("%d\n", times - before);
    int kinds[] = {ITIMER_VIRTUAL, ITIMER_PROF}, numbers[] = {SIGVTALRM, SIGPROF};
    for (int i = 0; i < 2; i++) {
        times = 0;
        handle(numbers[i], counts, SA_RESTART);
        set = in(20, 10);
        setitimer(kinds[i], &set, NULL);
        struct timespec wanted = {0, 20000000}, rest = {0, 0};
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, &rest) == EINTR) wanted = rest;
        printf("%d ", times < 3);
        while (times < 6) deep(9);
        set = in(0, 0);
        setitimer(kinds[i], &set, &left);
        printf("%d %d\n", codes == SI_KERNEL, left.it_interval.tv_usec != 0);
    }
    signal(SIGALRM, jumps);
    volatile int jumped = 0;
    sigsetjmp(out, 1);
    if (jumped++ < 3) {
        set = in(50, 0);
        setitimer(ITIMER_REAL, &set, NULL);
        for (;;) deep(5);
    }
    printf("%d\n", jumped);
}

static struct itimerspec every(long first, long again) {  // microseconds
    return (struct itimerspec){{0, again * 1000}, {first / 1000000, first % 1000000 * 1000}};
}

static void made(void) {
    timer_t plain, told, none, processor;
    struct itimerspec set = every(100, 100), left;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    tell("create", timer_create(CLOCK_REALTIME, NULL, &plain));
    event.sigev_value.sival_int = 4711;
    tell("create", timer_create(CLOCK_MONOTONIC, &event, &told));
    event.sigev_notify = SIGEV_NONE;
    tell("create", timer_create(CLOCK_MONOTONIC, &event, &none));
    event.sigev_notify = SIGEV_SIGNAL;
    tell("create", timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &processor));
    handle(SIGALRM, counts, SA_RESTART);
    handle(SIGUSR1, counts, SA_RESTART);
    timer_gettime(told, &left);
    printf("%ld %ld\n", (long)left.it_value.tv_nsec, (long)left.it_interval.tv_nsec);
    tell("set", timer_settime(told, 0, &set, NULL));
    while (times < 3) deep(9);
    printf("%d %d %d\n", codes == SI_TIMER, (int)values, timer_getoverrun(told) >= 0);
    set = every(0, 0);
    timer_settime(told, 0, &set, &left);
    printf("%ld\n", (long)left.it_interval.tv_nsec);
    times = 0;
    set = every(1000, 0);
    tell("set", timer_settime(plain, 0, &set, NULL));
    pause();
    printf("%d %d %d\n", times, codes == SI_TIMER, overruns);
    timer_gettime(plain, &left);
    printf("%ld %ld\n", (long)left.it_value.tv_sec, (long)left.it_value.tv_nsec);
    set = every(1000, 0);
    timer_settime(none, 0, &set, NULL);
    struct timespec some = {0, 3000000};
    nanosleep(&some, NULL);
    timer_gettime(none, &left);
    printf("%ld\n", (long)left.it_value.tv_nsec);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    set = every(1000, 1000);
    timer_settime(told, 0, &set, NULL);
    some.tv_nsec = 20000000;
    nanosleep(&some, NULL);
    siginfo_t info;
    tell("waited for", sigwaitinfo(&blocked, &info));
    printf("%d %d %d\n", info.si_code == SI_TIMER, info.si_value.sival_int, info.si_overrun >= 15);
    tell("overrun", timer_getoverrun(told) == info.si_overrun);
    int file = signalfd(-1, &blocked, 0);
    struct signalfd_siginfo read_one;
    read(file, &read_one, sizeof read_one);
    printf("%d %d\n", read_one.ssi_code == SI_TIMER, (int)read_one.ssi_int);
    tell("delete", timer_delete(told));
    sigtimedwait(&blocked, &info, &(struct timespec){0, 0});
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    times = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    set = (struct itimerspec){{0, 0}, {now.tv_sec - 1, 0}};
    tell("long ago", timer_settime(plain, TIMER_ABSTIME, &set, NULL));
    while (times < 1) deep(3);
    set = every(30, 20);
    timer_settime(processor, 0, &set, NULL);
    while (times < 4) deep(9);
    printf("%d\n", codes == SI_TIMER);
    tell("delete", timer_delete(processor));
    tell("again", syscall(SYS_timer_delete, 77));
    event.sigev_signo = 99;
    tell("no signal", timer_create(CLOCK_MONOTONIC, &event, &told));
    tell("no clock", timer_create(99, NULL, &told));
    if (!fork()) {  // a child has none
        set = every(100, 0);
        tell("a child's", syscall(SYS_timer_delete, 0));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int called, given;

static void in_thread(union sigval value) {
    pthread_mutex_lock(&lock);
    called++;
    given = value.sival_int;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *works(void *unused) {
    while (times < 3) deep(9);
    struct timespec used;
    clockid_t clock;
    pthread_getcpuclockid(pthread_self(), &clock);
    tell("clock", clock_gettime(clock, &used));
    printf("%d\n", used.tv_sec == 0 && used.tv_nsec > 0);
    return NULL;
}

static void threads(void) {
    timer_t each[2], to_one;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_thread};
    event.sigev_value.sival_int = 12;
    struct itimerspec set = every(50, 40), off = every(0, 0);
    for (int i = 0; i < 2; i++) {
        tell("create", timer_create(CLOCK_MONOTONIC, &event, &each[i]));
        tell("set", timer_settime(each[i], 0, &set, NULL));
    }
    pthread_mutex_lock(&lock);
    while (called < 5) pthread_cond_wait(&changed, &lock);
    printf("%d\n", given);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) tell("delete", timer_delete(each[i]));
    pthread_t worker;
    handle(SIGUSR2, counts, SA_RESTART);
    event = (struct sigevent){.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    ((int *)&event)[sizeof(union sigval) / sizeof(int) + 2] = getpid();
    tell("to the first", timer_create(CLOCK_MONOTONIC, &event, &to_one));
    pthread_create(&worker, NULL, works, NULL);
    timer_settime(to_one, 0, &set, NULL);
    pthread_join(worker, NULL);
    timer_settime(to_one, 0, &off, NULL);
    printf("%d\n", (int)pthread_equal(who, pthread_self()));
    ((int *)&event)[sizeof(union sigval) / sizeof(int) + 2] = 999999;
    tell("to nobody", syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &to_one));
}

static void queued(void) {
    sigset_t blocked;
    siginfo_t info;
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (int i = 0; i < 3; i++) {
        tell("queue", sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
        tell("once", sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 10 + i}));
        tell("lower", sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 20 + i}));
    }
    tell("asked", sigqueue(getpid(), 0, (union sigval){.sival_int = 0}));
    tell("no signal", sigqueue(getpid(), 70, (union sigval){.sival_int = 0}));
    tell("nobody", sigqueue(999999, SIGUSR1, (union sigval){.sival_int = 0}));
    while (sigtimedwait(&blocked, &info, &(struct timespec){0, 0}) > 0)
        printf("%d %d %d %d\n", info.si_signo, info.si_code == SI_QUEUE, info.si_value.sival_int, info.si_pid == getpid());
    int child = fork();
    if (!child) {
        sigwaitinfo(&blocked, &info);
        _exit(info.si_value.sival_int);
    }
    sigqueue(child, SIGRTMIN + 2, (union sigval){.sival_int = 33});
    int status;
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}

static void in_vain(void) {  // for ever: one signal is ignored, the other one blocked, the third timer sends none
    struct itimerval set = in(1000, 1000);
    struct itimerspec times = every(1000, 1000);
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t none, blocked;
    sigset_t mask;
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &set, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &none);
    timer_settime(none, 0, &times, NULL);
    event = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_create(CLOCK_MONOTONIC, &event, &blocked);
    timer_settime(blocked, 0, &times, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    for (;;) pause();
}

int main(int count, char **arguments) {
    const char *what = arguments[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "once")) once();
    if (!strcmp(what, "again")) again();
    if (!strcmp(what, "made")) made();
    if (!strcmp(what, "threads")) threads();
    if (!strcmp(what, "queued")) queued();
    if (!strcmp(what, "in vain")) in_vain();
    return 3;
}
