// Children of a process, one way each by argument: what they do, and how they end, is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared = 1;
static volatile sig_atomic_t ended;

static void told(int number) { ended = number; }

__attribute__((noipa)) int deep(int depth) {
    if (depth) return deep(depth - 1) + 1;
    int child = fork();
    if (child) {
        int status = 0;
        int waited = waitpid(child, &status, 0);
        return (waited == child) + 10 * WEXITSTATUS(status);
    }
    return ++shared;
}

static void say(int status) {
    if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
    else printf("exit %d\n", WEXITSTATUS(status));
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    int status = 0, ends[2], back[2];
    char words[64] = "";
    if (!strcmp(what, "fork")) {
        int parent = getpid(), found = deep(5);
        if (getpid() != parent) _exit(found + (getppid() == parent));
        printf("%d %d %d\n", found, shared, wait(&status));
    } else if (!strcmp(what, "pipe")) {
        pipe(ends);
        pipe(back);
        if (!fork()) {
            close(ends[1]);
            int many = read(ends[0], words, sizeof words);
            for (int i = 0; i < many; i++) words[i] ^= 0x20;
            write(back[1], words, many);
            _exit(read(ends[0], words, 1));
        }
        write(ends[1], "Hello", 5);
        close(ends[1]);
        printf("%d ", (int)read(back[0], words, sizeof words));
        puts(words);
        wait(&status);
        say(status);
    } else if (!strcmp(what, "signals")) {
        signal(SIGCHLD, told);
        int child = fork();
        if (!child) for (;;) pause();
        kill(child, SIGTERM);
        while (waitpid(child, &status, 0) < 0) {}
        say(status);
        printf("told %d, no more: %d %d\n", ended == SIGCHLD, waitpid(-1, &status, 0), errno == ECHILD);
        printf("%d %d\n", kill(child, 0), errno == ESRCH);
    } else if (!strcmp(what, "broken")) {
        pipe(ends);
        if (!fork()) {
            close(ends[0]);
            for (;;) write(ends[1], words, sizeof words);
        }
        close(ends[1]);
        read(ends[0], words, 1);
        close(ends[0]);
        wait(&status);
        say(status);
    } else if (!strcmp(what, "exec")) {
        char *again[] = {arguments[0], "was executed", 0}, *environment[] = {"NAME=value", 0};
        pipe(ends);
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        if (!fork()) {
            dup2(ends[1], 1);
            _exit(execve(arguments[0], again, environment));
        }
        close(ends[1]);
        wait(&status);
        for (int many; (many = read(ends[0], words, sizeof words)) > 0;) printf("%.*s", many, words);
        say(status);
    } else if (!strcmp(what, "vfork")) {
        char *again[] = {arguments[0], "was executed", 0};
        fflush(stdout);
        int child = vfork();
        if (!child) {
            execve(arguments[0], again, again + 2);
            _exit(1);
        }
        printf("%d ", waitpid(child, &status, 0) == child);
        say(status);
    } else if (!strcmp(what, "group")) {
        int children[3];
        for (int i = 0; i < 3; i++) {
            children[i] = fork();
            if (!children[i]) for (;;) pause();
            setpgid(children[i], children[0]);
        }
        printf("%d %d\n", waitpid(-children[0], &status, WNOHANG), getpgid(children[1]) == children[0]);
        kill(-children[0], SIGUSR1);
        for (int i = 0; i < 3; i++) {
            siginfo_t info = {0};
            waitid(P_PGID, children[0], &info, WEXITED);
            printf("%d %d\n", info.si_code == CLD_KILLED, info.si_status);
        }
    } else if (!strcmp(what, "poll")) {
        pipe(ends);
        pipe(back);
        struct pollfd asked[] = {{ends[0], POLLIN, 0}, {back[1], POLLOUT, 0}, {-1, POLLIN, 0}, {99, POLLIN, 0}};
        struct timespec moment = {0, 1000000};
        printf("%d %d\n", poll(asked, 1, 0), ppoll(asked, 1, &moment, 0));
        printf("%d %d %d %d %d\n", poll(asked, 4, -1), asked[0].revents, asked[1].revents, asked[2].revents,
               asked[3].revents);
        if (!fork()) {
            usleep(1000);
            write(ends[1], "x", 1);
            _exit(0);
        }
        close(ends[1]);
        fd_set reads;
        FD_ZERO(&reads);
        FD_SET(ends[0], &reads);
        printf("%d ", select(ends[0] + 1, &reads, 0, 0, 0));
        printf("%d\n", FD_ISSET(ends[0], &reads));
        wait(&status);
        read(ends[0], words, sizeof words);
        printf("%d %d\n", poll(asked, 1, -1), asked[0].revents == POLLHUP);
        close(back[0]);
        printf("%d %d\n", poll(asked + 1, 1, -1), !!(asked[1].revents & POLLERR));
    } else if (!strcmp(what, "orphan")) {
        if (!fork()) {
            sleep(1);
            puts("later");
            return 0;
        }
        puts("first");
    } else if (!strcmp(what, "unknown")) {
        if (!fork()) _exit(syscall(SYS_lookup_dcookie, 0, 0, 0));
        wait(&status);
        say(status);
    } else if (!strcmp(what, "missing")) {
        char *nothing[] = {"x", 0};
        printf("%d ", execve("/none", nothing, nothing + 1));
        printf("%d ", errno == ENOENT);
        printf("%d ", execve("/", nothing, nothing + 1));
        printf("%d\n", errno == EACCES);
    } else {
        printf("%s, %s, %d\n", what, getenv("NAME"), fcntl(3, F_GETFD) < 0);
        return 9;
    }
    return 0;
}
