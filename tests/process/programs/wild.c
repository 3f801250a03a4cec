// What a process must not get away with: other memory, endless children, recursion and memory, links that lead outside.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
