/* testbed_unwinder.h: judge your unwinder with testbed.
 *
 * Write one function, unwind(), in C or behind extern "C". Compile it together with testbed_host.c, which reads and
 * writes the protocol (docs/protocol.md) over the program's standard input and output. Print to standard error only.
 */
#ifndef TESTBED_UNWINDER_H
#define TESTBED_UNWINDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESTBED_MAX_FRAMES 1024
#define TESTBED_MAX_REGISTERS 64

struct testbed_register {
    const char *name; /* as the architecture calls it: "rbp", "x29", "lr" */
    uint64_t value;
};

/* A program file that is mapped. A run-time address minus `bias` is the address that the file says. */
struct testbed_image {
    const char *path;
    uint64_t bias;
    uint64_t start, end; /* of what is mapped, at run time */
    uint64_t file_size;
    const char *frame_records; /* {"a32":"r11-clang","thumb":"r7"}: how its frame pointers were built */
    void *yours;               /* keep here what you found in the file; it starts as NULL */
};

/* The machine before an instruction: all that you get. A register that is not listed is unknown. */
struct testbed_snapshot {
    const char *arch; /* "x86_64", "arm64", "arm32" */
    unsigned word;    /* bytes of an address */
    uint64_t pc, sp;
    uint64_t pac_mask; /* bits of a return address that are its signature; take them off: address & ~pac_mask */
    unsigned register_count;
    struct testbed_register registers[TESTBED_MAX_REGISTERS];
};

/* What you may ask, as often as you like. Pass `host` on. */
struct testbed_callbacks {
    void *host;
    /* How many bytes were read: fewer than asked where what is mapped ends before, 0 where nothing is mapped. */
    size_t (*read_memory)(void *host, uint64_t address, void *to, size_t size);
    /* The image that maps an address, or NULL. It stays where it is until the program ends. */
    struct testbed_image *(*find_image)(void *host, uint64_t address);
    /* As read_memory, from the image's file. (Its `path` may be opened just as well, on the same machine.) */
    size_t (*read_file)(void *host, const struct testbed_image *image, uint64_t offset, void *to, size_t size);
};

/* One frame. Say what you know: what you do not claim is not judged. */
struct testbed_frame {
    uint64_t pc;     /* of a caller: the return address, Thumb bit and signature taken off */
    uint64_t cfa;    /* the caller's SP at the call */
    int cfa_known;
    int interrupted; /* 1: a signal interrupted this frame, so that pc is no return address */
    unsigned register_count; /* registers as they are when this frame goes on; SP is one of them */
    struct testbed_register registers[TESTBED_MAX_REGISTERS];
};

struct testbed_backtrace {
    unsigned frame_count;
    struct testbed_frame *frames; /* room for TESTBED_MAX_FRAMES; frames[0], the interrupted one, is there already */
    const char *reason;           /* why you stopped: a sentence */
};

enum { TESTBED_ROOT = 0, TESTBED_STOPPED = 1 };

/* YOURS. TESTBED_ROOT claims that the last frame is the outermost one; TESTBED_STOPPED says that you do not know more,
 * and why (said->reason). Stopping is honest. A frame that is not there is a lie. */
int unwind(const struct testbed_snapshot *at, const struct testbed_callbacks *ask, struct testbed_backtrace *said);

/* YOURS: what is shown in tables. `testbed_arches` is a list of names for which it exists, with spaces. */
extern const char testbed_name[], testbed_version[], testbed_arches[];

/* 1 and the value, or 0 where the register is unknown. */
static inline int testbed_register(const struct testbed_snapshot *at, const char *name, uint64_t *value) {
    for (unsigned i = 0; i < at->register_count; i++)
        if (!strcmp(at->registers[i].name, name)) return *value = at->registers[i].value, 1;
    return 0;
}

/* The next frame, with a pc and nothing else yet; NULL where there is no more room. */
static inline struct testbed_frame *testbed_add_frame(struct testbed_backtrace *said, uint64_t pc) {
    if (said->frame_count == TESTBED_MAX_FRAMES) return NULL;
    struct testbed_frame *frame = &said->frames[said->frame_count++];
    frame->pc = pc;
    frame->cfa_known = frame->interrupted = 0;
    frame->register_count = 0;
    return frame;
}

static inline void testbed_claim(struct testbed_frame *frame, const char *name, uint64_t value) {
    if (frame->register_count == TESTBED_MAX_REGISTERS) return;
    frame->registers[frame->register_count].name = name;
    frame->registers[frame->register_count++].value = value;
}

#ifdef __cplusplus
}
#endif
#endif
