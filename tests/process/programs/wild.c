// What a process must not get away with: other memory, endless children, recursion and memory, links that lead outside.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int deep(int depth) {
    volatile char block[4096];
    block[0] = depth;
    return deep(depth + 1) + block[0];
}

static int opened(const char *path) {
    errno = 0;
    int file = open(path, O_RDONLY);
    printf("%d %s\n", file, strerror(errno));
    return file;
}

__attribute__((noipa)) void store(int *to) { *to = 1; }

static int pass(int end, int *files, int count) {  // along with one byte
    union { struct cmsghdr head; char room[CMSG_SPACE(254 * sizeof(int))]; } control;
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), files, count * sizeof(int));
    return sendmsg(end, &message, MSG_DONTWAIT);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "memory")) {
        opened("/proc/self/mem");
        opened("/proc/1/mem");
    } else if (!strcmp(what, "children")) {
        for (int i = 0; i < 1000 && fork() >= 0; i++) {}
        printf("%s\n", strerror(errno));
    } else if (!strcmp(what, "one by one")) {
        for (int i = 0; i < 1000; i++) {
            if (!fork()) return 0;
            wait(NULL);
        }
    } else if (!strcmp(what, "unread")) {
        int ends[2];
        pipe(ends);
        if (!fork()) for (char words[1024];;) write(ends[1], words, sizeof words);
        wait(NULL);
    } else if (!strcmp(what, "sockets")) {  // each process makes more, and fills them, with empty packets too
        int ends[2], made = 0;
        for (fork(), fork(); !socketpair(AF_UNIX, made & 1 ? SOCK_DGRAM : SOCK_STREAM, 0, ends); made++)
            while (send(ends[0], what, made & 2 ? 0 : 7, MSG_DONTWAIT) == 7) {}
        printf("%d %s\n", made, strerror(errno));
        while (wait(NULL) > 0) {}
    } else if (!strcmp(what, "packets")) {
        int ends[2], sent = 0;
        socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
        while (!send(ends[0], what, 0, MSG_DONTWAIT)) sent++;
        printf("%d %s\n", sent > 100, strerror(errno));
    } else if (!strcmp(what, "epolls")) {  // each layer in each of the next, then a chain, then one that holds itself
        int layers[8][20];
        struct epoll_event event = {.events = EPOLLIN};
        for (int i = 0; i < 8; i++) for (int k = 0; k < 20; k++) layers[i][k] = epoll_create1(0);
        int ends[2], depth = 1, failed = 0;
        pipe(ends);
        for (int k = 0; k < 20; k++) epoll_ctl(layers[0][k], EPOLL_CTL_ADD, ends[0], &event);
        for (int i = 0; i < 7 && !failed; i++)
            for (int k = 0; k < 20; k++)
                for (int j = 0; j < 20; j++) failed |= epoll_ctl(layers[i + 1][k], EPOLL_CTL_ADD, layers[i][j], &event);
        printf("%d %s\n", failed, strerror(errno));
        write(ends[1], what, 1);
        for (int i = 0; i < 8; i++) printf("%d", epoll_wait(layers[i][0], &event, 1, 0));
        for (int outer = epoll_create1(0), inner; (inner = epoll_create1(0)) >= 0; outer = inner, depth++)
            if (epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event)) break;
        printf(" %d %s ", depth, strerror(errno));
        printf("%d\n", epoll_ctl(layers[0][0], EPOLL_CTL_ADD, layers[3][0], &event));
    } else if (!strcmp(what, "sharing")) {
        int made = 0;
        while (mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) made++;
        printf("%d %s\n", made, strerror(errno));
        int file = memfd_create("large", 0);
        printf("%d %d\n", ftruncate(file, 1ll << 40), (int)fork());
        void *code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
        printf("%d\n", code == MAP_FAILED);
    } else if (!strcmp(what, "views")) {
        int made = 0, file = memfd_create("seen", 0);
        ftruncate(file, 4096);
        while (mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED) made++;
        printf("%d %s\n", made, strerror(errno));
    } else if (!strncmp(what, "sending", 7)) {
        int ends[2], sent = 0, many[256], most = what[7] ? 10000 : 100;
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        while (sent < most && pass(ends[0], &ends[1], 1) == 1) sent++;
        if (!what[7]) pass(ends[0], many, 254);
        printf("%d %s\n", sent, strerror(errno));
    } else if (!strcmp(what, "nested")) {  // each lies in the next one; the last two lie in each other, with a file
        int ends[2], inner[2], sent = 0, file = open("/tmp/nested", O_CREAT | O_RDWR, 0600);
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        for (; sent < 1000 && !socketpair(AF_UNIX, SOCK_STREAM, 0, inner); sent++) {
            if (pass(inner[0], &ends[1], 1) != 1) break;
            close(ends[0]);
            close(ends[1]);
            memcpy(ends, inner, sizeof ends);
        }
        printf("%d\n", sent);
        socketpair(AF_UNIX, SOCK_STREAM, 0, inner);
        pass(inner[0], &inner[1], 1);
        pass(inner[0], &file, 1);
    } else if (!strcmp(what, "ticking")) {
        int set = epoll_create1(0), outer = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
        struct itimerspec often = {{0, 1}, {0, 1}};
        timerfd_settime(timer, 0, &often, NULL);
        epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
        epoll_wait(set, &event, 1, -1);
        event.events = EPOLLIN;
        epoll_ctl(outer, EPOLL_CTL_ADD, set, &event);
        epoll_wait(outer, &event, 1, -1);
    } else if (!strcmp(what, "waiting")) {  // for each other, and for nobody
        int ends[2], set = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN};
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
        if (fork()) epoll_wait(set, &event, 1, -1);
        else read(ends[1], ends, 1);
    } else if (!strcmp(what, "links")) {
        for (int i = 0; i < 100; i++) {
            unlink("x");
            symlink(i & 1 ? "/etc" : "/tmp", "x");
            if (open("x/passwd", O_RDONLY) >= 0 || open("x/../../../../etc/hostname", O_RDONLY) >= 0) return 1;
        }
        mkdir("d", 0777);
        chdir("d");
        rename("../d", "/tmp/e");
        opened("../../../../../../etc/hostname");
    } else if (!strcmp(what, "mapping")) {
        for (int bits = 28; bits < 48; bits++)
            if (mmap(0, 1ul << bits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
                return printf("%s\n", strerror(errno)) < 0;
    } else if (!strcmp(what, "sparse")) {
        int file = open("/tmp/sparse", O_CREAT | O_RDWR, 0600);
        int cut = ftruncate(file, 1ll << 50);
        printf("%d %s\n", cut, strerror(errno));
    } else if (!strcmp(what, "recursion")) {
        return deep(0);
    } else if (!strcmp(what, "null")) {
        store(0);
    } else if (!strcmp(what, "loop")) {
        for (;;) {}
    }
    return 0;
}
