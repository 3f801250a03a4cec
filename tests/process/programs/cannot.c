// What no process here can do, one each by argument: it goes on and says what it was told.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int result = 0;
    errno = 0;
    if (!strcmp(argv[1], "socket"))
        result = socket(AF_INET, SOCK_STREAM, 0);
    else if (!strcmp(argv[1], "peer"))
        result = getpeername(0, 0, 0);
#ifdef __x86_64__
    else if (!strcmp(argv[1], "avx"))
        __asm__ volatile("vpaddd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
#endif
    printf("%s: %d, %s\n", argv[1], result, strerror(errno));
    return 5;
}
