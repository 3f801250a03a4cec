/* The signal handler of a sampling profiler: it calls an unwinder and writes down what that says.
 *
 * This is a whole program of its own, linked with one unwinder and no C library, that lies in memory beside the program
 * under test. The host fills `testbed_modules` with what a dynamic loader would know, and enters `testbed_handler` as
 * the kernel does. At `testbed_done` the answer stands in `testbed_answer`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#ifdef NONGNU
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <ucontext.h>
#else
#include <unwind.h>
#endif

typedef uintptr_t word;

enum { END = 5 }; /* _URC_END_OF_STACK */
#ifdef __ARM_EABI_UNWINDER__
#define STOP _URC_FAILURE /* EHABI has no other word for it */
#else
#define STOP _URC_NORMAL_STOP
#endif

enum { MOST_MODULES = 16, MOST_FRAMES = 256, HEAP = 1 << 16 };

/* One loaded file. Addresses are where it lies now; 0: it has no such table. */
struct module {
    word low, high, eh_frame_hdr, eh_frame_hdr_size, exidx, exidx_size;
};

struct frame {
    word ip, sp, before;
};

struct {
    word count;
    struct module at[MOST_MODULES];
} testbed_modules;

/* `code` is what the unwinder returned; `aborted` says that it gave up by abort() instead. */
struct {
    word count, code, aborted;
    struct frame at[MOST_FRAMES];
} testbed_answer;

extern void testbed_done(void);
extern void testbed_restorer(void);

#if defined(__x86_64__)
/* DW_CFA_expression: the register is at rsp + the offset, a SLEB128 of one or two bytes. */
#define SHORT(reg, offset) ".cfi_escape 0x10, " #reg ", 2, 0x77, " #offset "\n"
#define LONG(reg, low, high) ".cfi_escape 0x10, " #reg ", 3, 0x77, " #low ", " #high "\n"
#endif

__asm__(
    ".text\n.globl testbed_done\n.type testbed_done, %function\ntestbed_done:\n"
#if defined(__x86_64__)
    "hlt\n.size testbed_done, .-testbed_done\n"
    /* As in glibc: the table says that this is a signal's frame and where it keeps every register. LLVM needs that; libgcc
     * knows the bytes, too. The nop belongs to it, for those who look a return address up at the byte before. */
    ".p2align 4\n.cfi_startproc\n.cfi_signal_frame\n.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6\n"
    SHORT(8, 40) SHORT(9, 48) SHORT(10, 56) LONG(11, 0xc0, 0) LONG(12, 0xc8, 0) LONG(13, 0xd0, 0) LONG(14, 0xd8, 0)
    LONG(15, 0xe0, 0) LONG(5, 0xe8, 0) LONG(4, 0xf0, 0) LONG(6, 0xf8, 0) LONG(3, 0x80, 1) LONG(1, 0x88, 1)
    LONG(0, 0x90, 1) LONG(2, 0x98, 1) LONG(7, 0xa0, 1) LONG(16, 0xa8, 1)
    "nop\n.globl testbed_restorer\n.type testbed_restorer, %function\ntestbed_restorer:\n"
    "movq $15, %rax\nsyscall\n.size testbed_restorer, .-testbed_restorer\n.cfi_endproc\n"
#elif defined(__aarch64__)
    "brk #1\n.size testbed_done, .-testbed_done\n"
    ".p2align 4\nnop\n.globl testbed_restorer\n.type testbed_restorer, %function\ntestbed_restorer:\n"
    "mov x8, #139\nsvc #0\n.size testbed_restorer, .-testbed_restorer\n"
#elif defined(__arm__)
    "bkpt\n.size testbed_done, .-testbed_done\n"
#if defined(LLVM) || defined(NONGNU)
    /* As in glibc: the entry says that the frame holds all registers, 160 bytes above SP. */
    ".p2align 2\n.fnstart\n.save {r0-r15}\n.pad #160\nnop\n.globl __default_rt_sa_restorer\n"
    ".type __default_rt_sa_restorer, %function\n__default_rt_sa_restorer:\nmov r7, #173\nsvc #0\n.fnend\n"
    ".size __default_rt_sa_restorer, .-__default_rt_sa_restorer\n"
#endif
#endif
);

static const struct module *module_of(word pc)
{
    for (word i = 0; i < testbed_modules.count; i++)
        if (testbed_modules.at[i].low <= pc && pc < testbed_modules.at[i].high)
            return &testbed_modules.at[i];
    return NULL;
}

/* What the unwinders ask a C library for. */

void *memcpy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile char *)to)[i] = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
            return ((const unsigned char *)a)[i] - ((const unsigned char *)b)[i];
    return 0;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (((const volatile char *)text)[size])
        size++;
    return size;
}

char *strchr(const char *text, int wanted)
{
    for (;; text++) {
        if (*text == (char)wanted)
            return (char *)text;
        if (!*text)
            return NULL;
    }
}

void abort(void)
{
    testbed_answer.aborted = 1;
    testbed_done();
    for (;;)
        ;
}

static _Alignas(16) char heap[HEAP];
static size_t used;

void *malloc(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > HEAP - used)
        return NULL;
    used += size;
    return heap + used - size;
}

void *calloc(size_t count, size_t size)
{
    void *found = malloc(count * size);
    return found ? memset(found, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
    void *found = malloc(size);
    return found && old ? memcpy(found, old, size) : found;
}

void free(void *old)
{
    (void)old;
}

/* The alternate stack of the handler, SA_ONSTACK: what it needs must not depend on what the program left. */
_Alignas(4096) char testbed_stack[1 << 16];

word __stack_chk_guard = 0x5a17;
word testbed_thread[16] = {0, 0, 0, 0, 0, 0x5a17}; /* x86-64: the guard is at %fs:0x28 */

void __stack_chk_fail(void)
{
    abort();
}

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *argument)
{
    for (word i = 0; i < testbed_modules.count; i++) {
        const struct module *module = &testbed_modules.at[i];
        ElfW(Phdr) headers[3] = {
            {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = module->low, .p_memsz = module->high - module->low},
            {.p_type = module->eh_frame_hdr ? PT_GNU_EH_FRAME : PT_NULL,
             .p_vaddr = module->eh_frame_hdr,
             .p_memsz = module->eh_frame_hdr_size},
#ifdef __arm__
            {.p_type = module->exidx ? PT_ARM_EXIDX : PT_NULL, .p_vaddr = module->exidx, .p_memsz = module->exidx_size},
#endif
        };
        struct dl_phdr_info info = {.dlpi_name = "", .dlpi_phdr = headers, .dlpi_phnum = 3, .dlpi_adds = 1};
        int found = visit(&info, sizeof info, argument);
        if (found)
            return found;
    }
    return 0;
}

#ifdef __arm__
word __gnu_Unwind_Find_exidx(word pc, int *count)
{
    const struct module *module = module_of(pc);
    *count = module ? (int)(module->exidx_size / 8) : 0;
    return module ? module->exidx : 0;
}

word dl_unwind_find_exidx(word pc, int *count)
{
    return __gnu_Unwind_Find_exidx(pc, count);
}
#elif defined(DLFO_STRUCT_HAS_EH_DBASE)
int _dl_find_object(void *pc, struct dl_find_object *found)
{
    const struct module *module = module_of((word)pc);
    if (!module || !module->eh_frame_hdr)
        return -1;
    memset(found, 0, sizeof *found);
    found->dlfo_map_start = (void *)module->low;
    found->dlfo_map_end = (void *)module->high;
    found->dlfo_eh_frame = (void *)module->eh_frame_hdr;
    return 0;
}
#endif

#ifdef LLVM
/* LLVM asks the kernel whether an address can be read before it looks there for a trampoline. */
#include <errno.h>
static int error;
int *__errno_location(void)
{
    return &error;
}

long syscall(long number, ...)
{
    __builtin_va_list arguments;
    __builtin_va_start(arguments, number);
    (void)__builtin_va_arg(arguments, long);
    word asked = (word)__builtin_va_arg(arguments, long);
    __builtin_va_end(arguments);
    error = module_of(asked) ? EINVAL : EFAULT;
    return -1;
}

int pthread_rwlock_rdlock(void *lock) { (void)lock; return 0; }
int pthread_rwlock_wrlock(void *lock) { (void)lock; return 0; }
int pthread_rwlock_unlock(void *lock) { (void)lock; return 0; }
int dladdr(const void *address, Dl_info *info) { (void)address; (void)info; return 0; }
int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *);
char *getenv(const char *name) { (void)name; return NULL; }
int snprintf(char *to, size_t size, const char *format, ...) { (void)format; if (size) *to = 0; return 0; }
void *dlsym(void *from, const char *name) { (void)from; (void)name; return NULL; }
size_t fwrite(const void *data, size_t size, size_t count, void *file) { (void)data; (void)size; (void)file; return count; }
int fprintf(void *file, const char *format, ...) { (void)file; (void)format; return 0; }
int fflush(void *file) { (void)file; return 0; }
void *stderr;
int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return (unsigned char)*a - (unsigned char)*b;
}
void __assert_fail(const char *a, const char *b, unsigned c, const char *d) { (void)a; (void)b; (void)c; (void)d; abort(); }
#endif

#if defined(GLIBC)
extern int backtrace(void **, int);
#elif defined(NONGNU)
/* From the registers that the signal came with, as the library's documentation has it for handlers. */
static int walk(ucontext_t *interrupted)
{
#ifdef __arm__
    unw_context_t context;
    memcpy(context.regs, &interrupted->uc_mcontext.arm_r0, sizeof context.regs);
    unw_context_t *from = &context;
#else
    unw_context_t *from = (unw_context_t *)interrupted; /* it begins as the kernel's does */
#endif
    unw_cursor_t cursor;
    int status = unw_init_local2(&cursor, from, UNW_INIT_SIGNAL_FRAME);
    word behind_signal = 0;
    while (status >= 0 && testbed_answer.count < MOST_FRAMES) {
        struct frame *frame = &testbed_answer.at[testbed_answer.count++];
        unw_get_reg(&cursor, UNW_REG_IP, (unw_word_t *)&frame->ip);
        unw_get_reg(&cursor, UNW_REG_SP, (unw_word_t *)&frame->sp);
        word signal = unw_is_signal_frame(&cursor) > 0;
#ifdef __x86_64__
        frame->before = signal; /* there it is said of the frame that was interrupted, elsewhere of the trampoline's */
#else
        frame->before = behind_signal;
#endif
        behind_signal = signal;
        status = unw_step(&cursor);
        if (status <= 0)
            break;
    }
    return status == 0 ? END : status;
}
#else
#ifdef FORCED
/* Unwinding by force, as pthread_exit does it. EHABI's _Unwind_Backtrace never lists the frame at which the stack ends;
 * by force the stop function is told of it, with a flag. */
static int ended;
static struct _Unwind_Exception unwound;

static _Unwind_Reason_Code visit(struct _Unwind_Context *, void *);

static _Unwind_Reason_Code stop(int version, _Unwind_Action action, _Unwind_Exception_Class kind,
                                struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *argument)
{
    (void)version, (void)kind, (void)exception;
    ended = (action & _UA_END_OF_STACK) != 0;
    return visit(context, argument);
}

/* libgcc returns why it ended: at a frame that cannot be unwound, or for want of an entry. LLVM always returns an error,
 * and takes both for the end. */
static word by_force(void)
{
    _Unwind_Reason_Code code = _Unwind_ForcedUnwind(&unwound, stop, NULL);
#ifdef LLVM
    return ended ? END : (word)code;
#else
    return (word)code;
#endif
}
#endif

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
    (void)argument;
    if (testbed_answer.count == MOST_FRAMES)
        return STOP;
    struct frame *frame = &testbed_answer.at[testbed_answer.count++];
    int before = 0;
    frame->ip = _Unwind_GetIPInfo(context, &before);
    frame->before = (word)before;
#ifdef __ARM_EABI_UNWINDER__
    frame->sp = _Unwind_GetGR(context, 13); /* libgcc's _Unwind_GetCFA is 0 here */
#else
    frame->sp = _Unwind_GetCFA(context);
#endif
    return _URC_NO_REASON;
}
#endif

void testbed_handler(int number, void *information, void *context)
{
    (void)number;
    (void)information;
    (void)context;
#if defined(NONGNU)
    testbed_answer.code = (word)walk(context);
#elif defined(GLIBC)
    static void *found[MOST_FRAMES];
    testbed_answer.count = (word)backtrace(found, MOST_FRAMES);
    for (word i = 0; i < testbed_answer.count; i++)
        testbed_answer.at[i].ip = (word)found[i];
#elif defined(FORCED)
    testbed_answer.code = by_force();
#else
    testbed_answer.code = (word)_Unwind_Backtrace(visit, NULL);
#endif
    testbed_done();
}

#ifdef __arm__
/* The C library's own restorers: their EHABI entries are how ARM unwinders get past a signal. */
extern void __default_rt_sa_restorer(void);
void (*const testbed_keep)(void) = __default_rt_sa_restorer;
#endif

void _start(void)
{
    testbed_done();
}
