// What processes and threads tell each other through, one way each by argument; what came is printed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char words[256];

static void tell(const char *name, long result) { printf("%s %ld %s\n", name, result, result < 0 ? strerror(errno) : ""); }

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listening(int backlog, int *port) {
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    int server = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bind(server, (struct sockaddr *)&at, sizeof at);
    listen(server, backlog);
    getsockname(server, (struct sockaddr *)&at, &size);
    *port = ntohs(at.sin_port);
    return server;
}

static int reached(int port) {
    struct sockaddr_in at = loopback(port);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (struct sockaddr *)&at, sizeof at) < 0) return -1;
    return client;
}

static void echo(void) {  // a server that is a child, and its clients
    int port, server = listening(4, &port);
    if (!fork()) {
        for (int i = 0; i < 3; i++) {
            int client = accept(server, NULL, NULL), many;
            while ((many = read(client, words, sizeof words)) > 0) write(client, words, many);
            close(client);
        }
        _exit(0);
    }
    close(server);
    for (int i = 0; i < 3; i++) {
        int client = reached(port), many = 0, more;
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        getpeername(client, (struct sockaddr *)&peer, &size);
        dprintf(client, "hello %d", i);
        shutdown(client, SHUT_WR);
        while ((more = read(client, words + many, sizeof words - many)) > 0) many += more;
        printf("%.*s from %s, %d\n", many, words, inet_ntoa(peer.sin_addr), ntohs(peer.sin_port) == port);
        close(client);
    }
    wait(NULL);
    tell("nobody", reached(port));
}

static void pair(void) {
    int ends[2];
    for (int kind = 0; kind < 3; kind++) {
        tell("pair", socketpair(AF_UNIX, (int[]){SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}[kind], 0, ends) ? -1 : kind);
        if (!fork()) {
            close(ends[0]);
            write(ends[1], "one", 3);
            write(ends[1], "two", 3);
            read(ends[1], words, 1);
            _exit(words[0]);
        }
        close(ends[1]);
        int status, many = recv(ends[0], words, 5, MSG_PEEK);
        usleep(1000);
        many = recv(ends[0], words, 5, 0);
        printf("%d %.*s\n", many, many > 2 ? 2 : many, words);
        send(ends[0], "x", 1, MSG_NOSIGNAL);
        wait(&status);
        while ((many = recv(ends[0], words, sizeof words, MSG_DONTWAIT)) > 0) printf("%d more\n", many);
        tell("end", many);
        tell("into nothing", send(ends[0], "x", 1, MSG_NOSIGNAL));
        printf("%d\n", WEXITSTATUS(status));
        close(ends[0]);
    }
}

static void local(void) {  // by a path, by an abstract name, packets
    struct sockaddr_un at = {.sun_family = AF_UNIX}, from;
    socklen_t size;
    sprintf(at.sun_path, "/tmp/channels-%d", getpid());
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    tell("bind", bind(server, (struct sockaddr *)&at, sizeof at));
    tell("again", bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at));
    tell("deaf", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at));
    tell("listen", listen(server, 1));
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    tell("connect", connect(client, (struct sockaddr *)&at, sizeof at));
    write(client, "by path", 7);
    int end = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    printf("%.*s\n", (int)read(end, words, sizeof words), words);
    tell("nothing yet", read(end, words, 1));
    struct ucred who;
    size = sizeof who;
    getsockopt(end, SOL_SOCKET, SO_PEERCRED, &who, &size);
    printf("%d\n", who.pid == getpid());
    unlink(at.sun_path);
    tell("gone", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at));
    memset(&at.sun_path, 0, sizeof at.sun_path);
    sprintf(at.sun_path + 1, "channels-%d", getpid());
    int packets = socket(AF_UNIX, SOCK_DGRAM, 0), other = socket(AF_UNIX, SOCK_DGRAM, 0);
    tell("abstract", bind(packets, (struct sockaddr *)&at, sizeof at));
    tell("send", sendto(other, "a packet", 8, 0, (struct sockaddr *)&at, sizeof at));
    struct iovec parts[2] = {{words, 2}, {words + 2, 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    tell("cut", recvmsg(packets, &message, 0));
    printf("%.5s %d\n", words, message.msg_flags == MSG_TRUNC);
}

static void datagrams(void) {
    struct sockaddr_in at = loopback(0), from;
    socklen_t size = sizeof at;
    int one = socket(AF_INET, SOCK_DGRAM, 0), two = socket(AF_INET, SOCK_DGRAM, 0);
    bind(one, (struct sockaddr *)&at, sizeof at);
    getsockname(one, (struct sockaddr *)&at, &size);
    tell("connect", connect(two, (struct sockaddr *)&at, sizeof at));
    tell("send", send(two, "ping", 4, 0));
    int many = recvfrom(one, words, sizeof words, 0, (struct sockaddr *)&from, &size);
    printf("%.*s\n", many, words);
    tell("answer", sendto(one, "pong!", 5, 0, (struct sockaddr *)&from, size));
    ioctl(two, FIONREAD, &many);
    printf("%d %.*s\n", many, (int)read(two, words, sizeof words), words);
    tell("none", recv(two, words, 1, MSG_DONTWAIT));
}

static void nonblocking(void) {
    int port, server = listening(1, &port), error, out = 1;
    socklen_t size = sizeof error;
    struct sockaddr_in at = loopback(port);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    tell("connect", connect(client, (struct sockaddr *)&at, sizeof at));
    struct pollfd asked = {client, POLLIN | POLLOUT};
    printf("%d %x\n", poll(&asked, 1, 1000), asked.revents);
    getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size);
    printf("%d\n", error);
    int end = accept(server, NULL, NULL);
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &out, sizeof out);
    close(end);
    usleep(1000);
    poll(&asked, 1, 1000);
    printf("%x %d\n", asked.revents, (int)read(client, words, 1));
    tell("lost", write(client, "a", 1));
    usleep(1000);
    tell("told", send(client, "b", 1, MSG_NOSIGNAL));
    close(server);
    int refused = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    tell("refused", connect(refused, (struct sockaddr *)&at, sizeof at));
    asked.fd = refused;
    poll(&asked, 1, 1000);
    getsockopt(refused, SOL_SOCKET, SO_ERROR, &error, &size);
    printf("%x %s\n", asked.revents, strerror(error));
}

static void watching(void) {  // epoll: by level, by edge, once, an epoll in another, a counter
    struct epoll_event event = {.events = EPOLLIN}, found[4];
    int ends[2], set = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(0), counter = eventfd(0, EFD_NONBLOCK);
    unsigned long long number = 3;
    pipe(ends);
    event.data.u32 = 7;
    tell("add", epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    tell("twice", epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    tell("itself", epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
    tell("file", epoll_ctl(set, EPOLL_CTL_ADD, open("/dev/shm", O_RDONLY), &event));
    tell("nothing", epoll_wait(set, found, 4, 0));
    write(ends[1], "ab", 2);
    for (int i = 0; i < 2; i++) {
        tell("level", epoll_wait(set, found, 4, -1));
        printf("%x %d\n", found[0].events, found[0].data.u32);
    }
    event.events = EPOLLIN | EPOLLET;
    epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event);
    for (int i = 0; i < 2; i++) tell("edge", epoll_wait(set, found, 4, 0));
    write(ends[1], "c", 1);
    tell("edge", epoll_wait(set, found, 4, 0));
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u32 = 8;
    epoll_ctl(set, EPOLL_CTL_ADD, counter, &event);
    tell("empty", read(counter, &number, 8));
    write(counter, &number, 8);
    write(counter, &number, 8);
    for (int i = 0; i < 2; i++) tell("once", epoll_wait(set, found, 4, 0));
    read(counter, &number, 8);
    printf("%llu\n", number);
    event.events = EPOLLIN;
    epoll_ctl(outer, EPOLL_CTL_ADD, set, &event);
    tell("loop", epoll_ctl(set, EPOLL_CTL_ADD, outer, &event));
    tell("quiet", epoll_wait(outer, found, 4, 0));
    if (!fork()) {
        usleep(2000);
        write(ends[1], "d", 1);
        _exit(0);
    }
    tell("outer", epoll_wait(outer, found, 4, -1));
    wait(NULL);
    close(ends[1]);
    event.events = EPOLLIN;
    epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event);
    read(ends[0], words, sizeof words);
    tell("hung up", epoll_wait(set, found, 4, 0));
    printf("%x\n", found[0].events);
    close(ends[0]);
    tell("closed", epoll_wait(set, found, 4, 0));
}

struct both { pthread_mutex_t lock; sem_t done; int counted; char said[32]; };

static struct both *mapped(int file) {
    int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, file, 0);
}

static void shared(const char *how) {
    int file = -1;
    sprintf(words, "/channels-%d", getpid());
    if (!strcmp(how, "memfd")) file = memfd_create("both", MFD_CLOEXEC);
    if (!strcmp(how, "shm")) file = shm_open(words, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0) ftruncate(file, 4096);
    struct both *both = mapped(file);
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&both->lock, &kind);
    sem_init(&both->done, 1, 0);
    for (int i = 0; i < 3; i++)
        if (!fork()) {
            struct both *mine = strcmp(how, "shm") ? both : mapped(shm_open(words, O_RDWR, 0));
            for (int k = 0; k < 50; k++) {
                pthread_mutex_lock(&mine->lock);
                int counted = mine->counted;
                if (k % 10 == 0) sched_yield();
                mine->counted = counted + 1;
                pthread_mutex_unlock(&mine->lock);
            }
            sprintf(mine->said, "a child");
            sem_post(&mine->done);
            _exit(0);
        }
    for (int i = 0; i < 3; i++) sem_wait(&both->done);
    printf("%d %s\n", both->counted, both->said);
    if (file >= 0) printf("%d %d\n", (int)pread(file, words + 64, 4096, 0) > 0, (int)lseek(file, 0, SEEK_END));
    if (!strcmp(how, "shm")) tell("unlink", shm_unlink(words) + shm_unlink(words));
    while (wait(NULL) > 0) continue;
    munmap(both, 4096);
}

static void named(void) {
    sprintf(words, "/sem-%d", getpid());
    sem_t *turn = sem_open(words, O_CREAT | O_EXCL, 0600, 0);
    tell("open", turn == SEM_FAILED ? -1 : 0);
    if (!fork()) {
        sem_t *mine = sem_open(words, 0);
        usleep(1000);
        puts("child first");
        fflush(stdout);
        sem_post(mine);
        _exit(0);
    }
    sem_wait(turn);
    puts("then the parent");
    tell("unlink", sem_unlink(words));
    wait(NULL);
}

int main(int count, char **arguments) {
    const char *what = arguments[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "echo")) echo();
    if (!strcmp(what, "pair")) pair();
    if (!strcmp(what, "local")) local();
    if (!strcmp(what, "datagrams")) datagrams();
    if (!strcmp(what, "nonblocking")) nonblocking();
    if (!strcmp(what, "watching")) watching();
    if (!strcmp(what, "named")) named();
    if (!strcmp(what, "anonymous") || !strcmp(what, "memfd") || !strcmp(what, "shm")) shared(what);
    return 3;
}
