/* A child on its parent's stack, which the parent waits for; what it closes stays open for the parent. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int shared = 1;

__attribute__((noinline)) static int child_of(int value) {
    pid_t pid = vfork();
    if (pid == 0) {
        shared += value;
        close(1);
        _exit(33);
    }
    int status = 0;
    pid_t over = waitpid(pid, &status, 0);
    return over == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    int first = child_of(10), second = child_of(20);
    printf("%d %d %d\n", first, second, shared);
    return 0;
}
