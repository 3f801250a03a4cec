/* What nongnu libunwind asks a C library for, besides what `agent.c` has. There are no files, no threads and no kernel:
 * whether an address can be read, the host has written down. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

typedef uintptr_t word;

enum { MOST_REGIONS = 64, PAGE = 4096, POOL = 1 << 18 };

struct {
    word count;
    struct {
        word low, high;
    } at[MOST_REGIONS];
} testbed_regions;

static int error;

int *__errno_location(void)
{
    return &error;
}

static int fails(int why)
{
    error = why;
    return -1;
}

static int is_mapped(word address)
{
    for (word i = 0; i < testbed_regions.count; i++)
        if (testbed_regions.at[i].low <= address && address < testbed_regions.at[i].high)
            return 1;
    return 0;
}

/* The three ways in which libunwind finds out whether memory can be read. */

int mincore(void *address, size_t size, unsigned char *resident)
{
    (void)size;
    *resident = 1;
    return is_mapped((word)address) ? 0 : fails(ENOMEM);
}

int msync(void *address, size_t size, int flags)
{
    (void)size, (void)flags;
    return is_mapped((word)address) ? 0 : fails(ENOMEM);
}

ssize_t write(int file, const void *from, size_t size)
{
    (void)file;
    return is_mapped((word)from) ? (ssize_t)size : fails(EFAULT);
}

ssize_t read(int file, void *into, size_t size)
{
    (void)file, (void)into;
    return (ssize_t)size;
}

int pipe2(int files[2], int flags)
{
    (void)flags;
    files[0] = 3, files[1] = 4;
    return 0;
}

int pipe(int files[2])
{
    return pipe2(files, 0);
}

static _Alignas(4096) char pool[POOL];
static size_t pooled;

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    (void)at, (void)protection, (void)flags, (void)offset;
    size = (size + PAGE - 1) & -(size_t)PAGE;
    if (file != -1 || size > POOL - pooled)
        return fails(ENOMEM), MAP_FAILED;
    pooled += size;
    return pool + pooled - size;
}

int munmap(void *at, size_t size) { (void)at, (void)size; return 0; }
int open(const char *name, int flags, ...) { (void)name, (void)flags; return fails(ENOENT); }
int close(int file) { (void)file; return 0; }
int fcntl(int file, int command, ...) { (void)file, (void)command; return 0; }
int fstat(int file, void *into) { (void)file, (void)into; return fails(EBADF); }
int stat(const char *name, void *into) { (void)name, (void)into; return fails(ENOENT); }
int getpid(void) { return 1; }
int getpagesize(void) { return PAGE; }
long sysconf(int name) { (void)name; return PAGE; }
char *strerror(int number) { (void)number; return "an error"; }
int puts(const char *text) { (void)text; return 0; }
int sigfillset(void *set) { (void)set; return 0; }
int sigprocmask(int how, const void *set, void *old) { (void)how, (void)set, (void)old; return 0; }
int pthread_mutex_init(void *lock, const void *how) { (void)lock, (void)how; return 0; }
int pthread_mutex_lock(void *lock) { (void)lock; return 0; }
int pthread_mutex_unlock(void *lock) { (void)lock; return 0; }
int pthread_once(void *once, void (*call)(void)) { (void)once; call(); return 0; }
int pthread_key_create(void *key, void (*end)(void *)) { (void)key, (void)end; return fails(EAGAIN); }
int pthread_setspecific(unsigned key, const void *value) { (void)key, (void)value; return fails(EINVAL); }

/* Strings. */

void *memmove(void *to, const void *from, size_t size)
{
    volatile char *into = to;
    const char *bytes = from;
    if ((word)to < (word)from)
        for (size_t i = 0; i < size; i++)
            into[i] = bytes[i];
    else
        while (size--)
            into[size] = bytes[size];
    return to;
}

void *memchr(const void *text, int wanted, size_t size)
{
    for (const unsigned char *at = text; size--; at++)
        if (*at == (unsigned char)wanted)
            return (void *)at;
    return NULL;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return (unsigned char)*a - (unsigned char)*b;
}

char *strrchr(const char *text, int wanted)
{
    const char *last = NULL;
    do
        if (*text == (char)wanted)
            last = text;
    while (*text++);
    return (char *)last;
}

char *stpcpy(char *to, const char *from)
{
    while ((*to = *from++))
        to++;
    return to;
}

char *strcpy(char *to, const char *from)
{
    stpcpy(to, from);
    return to;
}

char *strncpy(char *to, const char *from, size_t size)
{
    for (size_t i = 0, ended = 0; i < size; i++)
        ended |= !(to[i] = ended ? 0 : from[i]);
    return to;
}

long syscall(long number, long file, const void *from, size_t size) { (void)number; return write((int)file, from, size); } /* x86-64: it writes to its pipe so */
long strtol(const char *text, char **end, int base) { (void)text, (void)end, (void)base; return 0; }
char *getenv(const char *name) { (void)name; return NULL; }

unsigned long __getauxval(unsigned long kind) { (void)kind; return 0; } /* libgcc: there are no newer atomic instructions */
void abort(void);
int raise(int number) { (void)number; abort(); return 0; }

/* Compressed symbols: names are not asked for. */
int lzma_stream_footer_decode(void) { return 1; }
int lzma_stream_buffer_decode(void) { return 1; }
int lzma_index_buffer_decode(void) { return 1; }
uint64_t lzma_index_size(void) { return 0; }
uint64_t lzma_index_uncompressed_size(void) { return 0; }
void lzma_index_end(void) {}
