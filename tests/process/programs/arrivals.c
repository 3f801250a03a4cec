// What comes through descriptors of rarer kinds, one way each by argument: files that are mapped, other descriptors,
// times, signals. What came is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char words[256];

static void tell(const char *name, long result) { printf("%s %ld %s\n", name, result, result < 0 ? strerror(errno) : ""); }

static char *seen(int file, int protection, int size) {
    char *at = mmap(NULL, size, protection, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void mapped(void) {  // a file, by its bytes and by memory
    struct stat about;
    sprintf(words, "/tmp/mapped-%d", getpid());
    int file = open(words, O_RDWR | O_CREAT | O_TRUNC, 0600), other = open(words, O_RDONLY);
    tell("write", write(file, "one two three", 13));
    char *both = seen(file, PROT_READ | PROT_WRITE, 8192), *mine = seen(other, PROT_READ, 4096);
    tell("not to be written", seen(other, PROT_READ | PROT_WRITE, 4096) ? 0 : -1);
    tell("nor later", mprotect(mine, 4096, PROT_READ | PROT_WRITE));
    printf("%.13s %.13s\n", both, mine);
    memcpy(both + 4, "TWO", 3);
    printf("%.13s %d %.13s\n", mine, (int)pread(other, words + 64, 64, 0), words + 64);
    tell("pwrite", pwrite(file, "2", 1, 5));
    printf("%.13s %.13s\n", both, mine);
    memcpy(both + 13, "behind the end", 15);
    fstat(file, &about);
    printf("%d %s\n", (int)about.st_size, mine + 13);
    tell("longer", ftruncate(file, 6000));
    strcpy(both + 5000, "further");
    printf("%d %s\n", (int)pread(other, words + 64, 64, 5000), words + 64);
    if (!fork()) {
        strcpy(both, "a child");
        pwrite(file, "wrote", 5, 2);
        _exit(0);
    }
    wait(NULL);
    printf("%s %s\n", both, mine);
    tell("sync", msync(both, 4096, MS_SYNC));
    tell("shorter", ftruncate(file, 4));
    printf("%.8s|\n", mine);
    tell("gone", unlink(words));
    strcpy(both, "now");
    close(file);
    munmap(both, 8192);
    printf("%d %.4s %s\n", (int)read(other, words + 64, 64), words + 64, mine);
}

static void twice(void) {  // the same memory at two places, and a word across two of its pages
    int file = memfd_create("twice", 0);
    ftruncate(file, 8192);
    char *one = seen(file, PROT_READ | PROT_WRITE, 8192), *two = seen(file, PROT_READ | PROT_WRITE, 8192);
    struct { long long word; } __attribute__((packed)) *across = (void *)(one + 4093);
    across->word = 0x1122334455667788;
    printf("%llx\n", ((__typeof__(across))(two + 4093))->word);
    strcpy(two + 100, "by the second");
    printf("%s\n", one + 100);
    int ends[2];
    pipe(ends);
    write(ends[1], "by a call", 10);
    read(ends[0], one + 200, 10);
    printf("%s\n", two + 200);
    munmap(one, 4096);
    strcpy(two + 4200, "half is left");
    printf("%s %s\n", one + 4200, two + 200);
}

static int sent(int end, const char *text, int *files, int count) {
    char control[CMSG_SPACE(8 * sizeof(int))] = {0};
    struct iovec part = {(char *)text, strlen(text)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), files, count * sizeof(int));
    }
    return sendmsg(end, &message, 0);
}

static int got(int end, int *files, int room, int flags) {  // how many; what else came is printed
    char control[CMSG_SPACE(8 * sizeof(int))];
    struct iovec part = {words, sizeof words};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
    message.msg_controllen = room ? CMSG_SPACE(room * sizeof(int)) : 0;
    int many = recvmsg(end, &message, flags), count = 0;
    struct cmsghdr *head = many >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head) {
        count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(files, CMSG_DATA(head), count * sizeof(int));
    }
    printf("%.*s, %d files%s, %d bytes told\n", many > 0 ? many : 0, words, count,
           message.msg_flags & MSG_CTRUNC ? ", cut" : "", (int)message.msg_controllen > 0);
    return count;
}

static void rights(void) {
    int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}, files[8];
    for (int kind = 0; kind < 3; kind++) {
        int ends[2], pipes[2], other[2];
        socketpair(AF_UNIX, kinds[kind], 0, ends);
        pipe(pipes);
        pipe(other);
        if (!fork()) {
            close(ends[0]);
            tell("plain", sent(ends[1], "ab", NULL, 0));
            tell("with", sent(ends[1], "cd", (int[]){pipes[0], other[1]}, 2));
            tell("behind", sent(ends[1], "ef", NULL, 0));
            tell("one", sent(ends[1], "gh", &pipes[0], 1));
            tell("none", sent(ends[1], "ij", (int[]){99}, 1));
            fflush(stdout);
            _exit(0);
        }
        close(ends[1]);
        wait(NULL);
        close(pipes[0]);
        close(other[1]);
        int count = 0;
        for (int i = 0; i < 3 && !count; i++) count = got(ends[0], files, 8, MSG_CMSG_CLOEXEC);
        printf("%d %d\n", fcntl(files[0], F_GETFD), fcntl(files[1], F_GETFD));
        write(pipes[1], "through", 7);
        printf("%.*s\n", (int)read(files[0], words, sizeof words), words);
        write(files[1], "back", 4);
        printf("%.*s\n", (int)read(other[0], words, sizeof words), words);
        if (kind) printf("%.*s\n", (int)recv(ends[0], words, sizeof words, 0), words);
        else printf("%.*s\n", (int)recv(ends[0], words, 2, 0), words);
        close(files[0]);
        tell("peeked", got(ends[0], files, 1, MSG_PEEK) ? 0 : -1);
        close(files[0]);
        tell("no room", got(ends[0], files, 0, 0));
        signal(SIGPIPE, SIG_IGN);
        tell("nobody reads", write(pipes[1], "x", 1));
        tell("no more", recv(ends[0], words, 1, kind ? MSG_DONTWAIT : 0));
    }
    int ends[2], pipes[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pipe(pipes);
    sent(ends[1], "lost", &pipes[1], 1);
    close(pipes[1]);
    struct pollfd asked = {pipes[0], POLLIN};
    tell("on its way", poll(&asked, 1, 0));
    close(ends[0]);
    tell("lost", poll(&asked, 1, 0));
    printf("%x\n", asked.revents);
}

static int who(int end, int room, int *file) {  // which process a message says that it is of; what else came is printed
    char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {words, sizeof words};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
    int many = recvmsg(end, &message, 0), pid = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        struct ucred *from = (struct ucred *)CMSG_DATA(head);
        if (head->cmsg_type == SCM_RIGHTS) *file = *(int *)from;
        else if (from->uid == getuid() && from->gid == getgid()) pid = from->pid;
        printf("%d ", (int)head->cmsg_type);
    }
    printf("%.*s%s\n", many > 0 ? many : 0, words, message.msg_flags & MSG_CTRUNC ? ", cut" : "");
    return pid;
}

static int says(int end, const char *text, int pid, int file) {
    char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {(char *)text, strlen(text)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
    message.msg_controllen = file < 0 ? CMSG_SPACE(sizeof(struct ucred)) : sizeof control;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    struct ucred from = {pid, getuid(), getgid()};
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_CREDENTIALS;
    head->cmsg_len = CMSG_LEN(sizeof from);
    memcpy(CMSG_DATA(head), &from, sizeof from);
    if (file >= 0) {
        head = CMSG_NXTHDR(&message, head);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    return sendmsg(end, &message, 0);
}

static void senders(void) {
    int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}, on = 1, enough = CMSG_SPACE(sizeof(struct ucred));
    for (int kind = 0; kind < 3; kind++) {
        int ends[2], file = -1;
        struct ucred peer;
        socklen_t size = sizeof peer;
        socketpair(AF_UNIX, kinds[kind], 0, ends);
        getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &size);
        printf("%d %d %d\n", peer.pid == getpid(), peer.uid == getuid(), (int)size);
        write(ends[1], "unasked", 7);
        printf("%d\n", who(ends[0], enough, &file));
        setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
        write(ends[1], "own ", 4);
        int child = fork();
        if (!child) {
            tell("plain", write(ends[1], "plain", 5));
            tell("as itself", says(ends[1], " said", getpid(), ends[1]));
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        printf("%d\n", who(ends[0], enough, &file) == getpid());
        int both = enough + CMSG_SPACE(sizeof(int));
        printf("%d\n", who(ends[0], both, &file) == child);  // a stream's bytes of one process come at once
        if (kind) printf("%d\n", who(ends[0], both, &file) == child);
        printf("%d\n", file >= 0);
        write(ends[1], "no room", 7);
        printf("%d\n", who(ends[0], 0, &file));
        close(ends[0]);
        close(ends[1]);
    }
}

static void liar(void) {  // which only a privileged user may be
    int ends[2], file = -1;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    tell("as another", says(ends[1], "lie", getppid(), -1));
    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int));
    tell("as itself", says(ends[1], "truth", getpid(), -1));
    printf("%d\n", who(ends[0], CMSG_SPACE(sizeof(struct ucred)), &file) == getpid());
}

static struct itimerspec in(long first, long every) {  // milliseconds
    return (struct itimerspec){{0, every * 1000000}, {first / 1000, first % 1000 * 1000000}};
}

static void timer(void) {
    int time = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), quiet = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    uint64_t count = 0;
    struct itimerspec set = in(20, 0), left;
    tell("not set", read(quiet, &count, 8));
    tell("set", timerfd_settime(time, 0, &set, NULL));
    tell("read", read(time, &count, 8));
    printf("%d\n", (int)count);
    set = in(10, 30);
    timerfd_settime(time, 0, &set, NULL);
    timerfd_gettime(time, &left);
    printf("%ld %d\n", left.it_interval.tv_nsec, left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 10000000);
    struct pollfd asked[2] = {{time, POLLIN}, {quiet, POLLIN}};
    tell("poll", poll(asked, 2, -1));
    printf("%x %x\n", asked[0].revents, asked[1].revents);
    tell("small", read(time, &count, 4));
    read(time, &count, 8);
    usleep(75000);
    read(time, &count, 8);
    printf("%d\n", count >= 2 && count < 6);
    fd_set some;
    FD_ZERO(&some);
    FD_SET(time, &some);
    tell("select", select(time + 1, &some, NULL, NULL, NULL));
    int outer = epoll_create1(0), inner = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}, found[2];
    epoll_ctl(inner, EPOLL_CTL_ADD, time, &event);
    event.events = EPOLLIN;
    epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
    for (int i = 0; i < 2; i++) {
        tell("in two sets", epoll_wait(outer, found, 2, -1));
        tell("the inner", epoll_wait(inner, found, 2, 0));
        usleep(70000);
        tell("nobody has read", epoll_wait(inner, found, 2, 0));
        read(time, &count, 8);
    }
    set = in(0, 0);
    timerfd_settime(time, 0, &set, &left);
    printf("%ld\n", left.it_interval.tv_nsec);
    tell("no longer", poll(asked, 1, 20));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    set = (struct itimerspec){{0, 0}, {now.tv_sec - 1, 0}};
    timerfd_settime(quiet, TFD_TIMER_ABSTIME, &set, NULL);
    tell("long ago", read(quiet, &count, 8));
    tell("no clock", timerfd_create(99, 0));
    tell("no timer", timerfd_settime(0, 0, &set, NULL));
}

static void *sends(void *main) {
    usleep(2000);
    kill(getpid(), SIGUSR2);
    return NULL;
}

static void taken(void) {  // signals that no handler gets
    sigset_t set;
    siginfo_t info;
    struct signalfd_siginfo told[3];
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    tell("nothing", read(file, told, sizeof told));
    struct pollfd asked = {file, POLLIN};
    tell("poll", poll(&asked, 1, 0));
    kill(getpid(), SIGUSR2);
    kill(getpid(), SIGUSR1);
    tell("poll", poll(&asked, 1, 0));
    tell("small", read(file, told, 100));
    printf("%d\n", (int)(read(file, told, sizeof told) / sizeof told[0]));
    for (int i = 0; i < 2; i++) printf("%d %d\n", told[i].ssi_signo, told[i].ssi_pid == getpid());
    int child = fork();
    if (!child) {
        tell("a child's own", read(file, told, sizeof told));
        raise(SIGUSR1);
        tell("a child's own", read(file, told, sizeof told));
        fflush(stdout);
        _exit(7);
    }
    tell("poll", poll(&asked, 1, -1));
    read(file, told, sizeof told);
    printf("%d %d %d %d\n", told[0].ssi_signo, told[0].ssi_pid == child, told[0].ssi_code == CLD_EXITED, told[0].ssi_status);
    wait(NULL);
    sigdelset(&set, SIGUSR2);
    tell("changed", signalfd(file, &set, 0) == file ? 0 : -1);
    raise(SIGUSR2);
    tell("not of it", read(file, told, sizeof told));
    sigaddset(&set, SIGUSR2);
    tell("waited for", sigwaitinfo(&set, &info));
    printf("%d\n", info.si_pid == getpid());
    struct timespec soon = {0, 1000000};
    tell("in vain", sigtimedwait(&set, &info, &soon));
    pthread_t other;
    pthread_create(&other, NULL, sends, NULL);
    int number = 0;
    tell("sigwait", sigwait(&set, &number));
    printf("%d\n", number);
    pthread_join(other, NULL);
}

int main(int count, char **arguments) {
    const char *what = arguments[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "mapped")) mapped();
    if (!strcmp(what, "twice")) twice();
    if (!strcmp(what, "rights")) rights();
    if (!strcmp(what, "senders")) senders();
    if (!strcmp(what, "liar")) liar();
    if (!strcmp(what, "timer")) timer();
    if (!strcmp(what, "taken")) taken();
    return 3;
}
