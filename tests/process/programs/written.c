// Code that the program writes itself, as Python's trampolines are: it calls what it is given. A perf map names it.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static long called(long value) {
    __asm__ volatile("" : "+r"(value));
    return value * 2 + 1;
}

int main(void) {
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3};
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    memcpy(at + 16, code, sizeof code);
    mprotect(at, 4096, PROT_READ | PROT_EXEC);
    char name[64];
    sprintf(name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %zx py::first:/here/a b.py\nnonsense\n%lx %zx old\n", (long)at, sizeof code, (long)at + 16, sizeof code);
    fprintf(map, "%lx %zx py::second:/here/a b.py\n1000 10 nowhere\n%lx -5 less\n", (long)at + 16, sizeof code, (long)at + 32);
    fclose(map);
    long (*first)(long, long (*)(long)) = (void *)at, (*second)(long, long (*)(long)) = (void *)(at + 16);
    printf("%ld\n", first(3, called) + second(4, called));
    munmap(at, 4096);
    return 0;
}
