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
    } else if (!strcmp(what, "stopped")) {
        siginfo_t info = {0};
        struct sigaction action = {.sa_handler = told, .sa_flags = SA_RESTART};
        sigaction(SIGCHLD, &action, 0);
        int child = fork();
        if (!child) {
            kill(getpid(), SIGSTOP);
            for (;;) usleep(100);
        }
        waitpid(child, &status, WUNTRACED);
        printf("%d %d %d\n", WIFSTOPPED(status), WSTOPSIG(status) == SIGSTOP, ended == SIGCHLD);
        kill(child, SIGTERM);  // it waits, as the child does
        printf("%d %d\n", kill(child, 0), waitpid(child, &status, WNOHANG | WUNTRACED));
        ended = 0;
        kill(child, SIGCONT);
        waitid(P_PID, child, &info, WCONTINUED | WEXITED | WNOWAIT);
        printf("%d\n", info.si_code == CLD_CONTINUED || info.si_status == SIGTERM);
        waitpid(child, &status, 0);
        say(status);
        signal(SIGTSTP, SIG_IGN);
        pipe(ends);
        child = fork();
        if (!child) {
            close(ends[1]);
            kill(getpid(), SIGTSTP);
            signal(SIGTSTP, SIG_DFL);
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGSTOP);  // nobody can
            sigaddset(&set, SIGTTIN);
            sigprocmask(SIG_BLOCK, &set, 0);
            kill(getpid(), SIGTTIN);
            setpgid(0, 0);
            sigprocmask(SIG_UNBLOCK, &set, 0);
            read(ends[0], words, 1);  // until the parent knows that it goes on
            _exit(6);
        }
        waitid(P_PID, child, &info, WSTOPPED);
        printf("%d %d\n", info.si_code == CLD_STOPPED, info.si_status == SIGTTIN);
        kill(child, SIGCONT);
        waitpid(child, &status, WCONTINUED);
        printf("%d\n", WIFCONTINUED(status));
        close(ends[1]);
        waitpid(child, &status, 0);
        say(status);
        child = fork();
        if (!child) for (;;) pause();
        kill(child, SIGSTOP);
        waitpid(child, &status, WUNTRACED);
        kill(child, SIGKILL);
        waitpid(child, &status, WUNTRACED);
        say(status);
    } else if (!strcmp(what, "unwatched")) {  // who would let it go on is gone: it is told so, and goes on
        pipe(ends);
        if (!fork()) {
            int child = fork();
            if (!child) {
                setpgid(0, 0);
                signal(SIGHUP, told);
                kill(getpid(), SIGTSTP);
                kill(getpid(), SIGTSTP);  // nobody watches: this stops nothing
                write(ends[1], ended == SIGHUP ? "told" : "not told", 8);
                _exit(0);
            }
            waitpid(child, &status, WUNTRACED);
            _exit(WSTOPSIG(status) == SIGTSTP);
        }
        wait(&status);
        say(status);
        read(ends[0], words, sizeof words);
        puts(words);
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
