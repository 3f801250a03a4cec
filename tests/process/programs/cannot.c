// What no process here can do, one each by argument: it goes on and says what it was told.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int result = 0;
    errno = 0;
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808)};
    if (!strcmp(argv[1], "network"))
        result = connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&other, sizeof other);
    else if (!strcmp(argv[1], "watch"))
        result = inotify_init1(0);
#ifdef __x86_64__
    else if (!strcmp(argv[1], "avx"))
        __asm__ volatile("vpaddd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
#endif
    printf("%s: %d, %s\n", argv[1], result, strerror(errno));
    return 5;
}
