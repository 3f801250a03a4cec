/* Check an unwinder written in C on test vectors. C99; no library but libc.
 *
 *     cc -std=c99 -O2 -o check_vectors check_vectors.c
 *     ./check_vectors --technique fp_chain x86_64/leaf_call.*.json
 *
 * Put your unwinder where `unwind` is, at the end: the one here follows frame pointers. It gets registers by name, reads
 * memory with read_memory, and writes frames; the first one is the interrupted one. README.md tells the format, and what
 * the words of the table mean. Exit status: 0 if nothing failed, 1 if something did, 2 if a file cannot be read.
 *
 * The files are JSON and nothing else, so that there is one format to describe; their text holds no escapes, and the
 * reader below (50 lines) is enough for them. Take it, or use a JSON library.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON, as these files have it: objects, lists, text without escapes, whole numbers ---- */

struct json {
    char type;         /* '{' '[' '"' '0' */
    const char *key;   /* in an object */
    const char *text;  /* of text and numbers */
    struct json *first, *next;
};

static const char *reading = "";               /* the file that is read: every message names it */
enum { DEEP = 64, LARGEST = 1 << 28 };         /* lists in lists; bytes of a file or of a mapping */

static void fail(const char *what, const char *which) {
    fprintf(stderr, "%s: %s%s%.40s\n", reading, what, *which ? ": " : "", which);
    exit(2);
}

static void *room(size_t count, size_t size) {
    void *made = calloc(count ? count : 1, size);
    if (!made) fail("there is no memory for it", "");
    return made;
}

static char *spaces(char *at) { return at + strspn(at, " \n\r\t"); }

static char *quoted(char *at, const char **text) {
    char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
    if (!end) fail("text is expected", at);
    *text = at + 1;
    *end = 0;
    return end + 1;
}

static char *parse(char *at, struct json *out, int depth) {
    if (depth == DEEP) fail("lists in lists in lists", "");
    at = spaces(at);
    out->type = *at;
    if (*at == '"') return quoted(at, &out->text);
    if (*at != '{' && *at != '[') {
        out->type = '0';
        out->text = at;
        return at + strspn(at, "-0123456789");
    }
    char close = *at == '{' ? '}' : ']';
    struct json **link = &out->first;
    at = spaces(at + 1);
    while (*at != close) {
        struct json *item = *link = room(1, sizeof *item);
        if (out->type == '{') {
            at = spaces(quoted(at, &item->key));
            if (*at++ != ':') fail("a colon is expected", item->key);
        }
        at = spaces(parse(at, item, depth + 1));
        link = &item->next;
        if (*at == ',') *at = 0, at = spaces(at + 1); /* the zero ends a number in front */
        else if (*at != close) fail("the file is cut off or damaged", at);
    }
    *at = 0;
    return at + 1;
}

static struct json *member(struct json *object, const char *key) {
    for (struct json *item = object && object->type == '{' ? object->first : NULL; item; item = item->next)
        if (!strcmp(item->key, key)) return item;
    return NULL;
}

static const char *text(struct json *object, const char *key) {
    struct json *item = member(object, key);
    return item && item->text ? item->text : "";
}

static uint64_t value(struct json *item) {
    char *rest = "";
    if (!item || !item->text || !*item->text) fail("a number is expected", item && item->key ? item->key : "");
    uint64_t found = strtoull(item->text, &rest, 0);
    if (*rest) fail("a number is expected", item->text);
    return found;
}

/* A member that has to be there. */
static struct json *needed(struct json *object, const char *key) {
    struct json *item = member(object, key);
    if (!item) fail("a member is missing", key);
    return item;
}

static uint64_t number(struct json *object, const char *key) { return value(needed(object, key)); }

static struct json *item_at(struct json *list, uint64_t index) {
    struct json *item = list->first;
    while (item && index--) item = item->next;
    if (!item) fail("an index is too large", list->key ? list->key : "");
    return item;
}

static int has(struct json *list, const char *name) {
    for (struct json *item = list ? list->first : NULL; item; item = item->next)
        if ((item->key || item->text) && !strcmp(item->key ? item->key : item->text, name)) return 1;
    return 0;
}

/* ---- the machine of one vector ---- */

enum { REGIONS = 32, FRAMES = 1024, REGISTERS = 48 };

struct region { uint64_t start, size; uint8_t *base, *now; };

struct machine {
    struct json *file, *vector;
    struct region regions[REGIONS];
    int count;
};

struct said_frame {
    uint64_t pc, cfa;
    int has_cfa, registers; /* of callers: those that you recover; say nothing about the others */
    struct { const char *name; uint64_t value; } reg[REGISTERS];
};

/* A little-endian number of 1 to 8 bytes; 0 where it is not mapped. */
static int read_memory(const struct machine *m, uint64_t address, int size, uint64_t *out) {
    for (int i = 0; i < m->count; i++) {
        const struct region *r = &m->regions[i];
        if (address >= r->start && (uint64_t)size <= r->size && address - r->start <= r->size - size) {
            *out = 0;
            memcpy(out, r->now + (address - r->start), size); /* on a little-endian host */
            return 1;
        }
    }
    return 0;
}

static uint64_t register_named(const struct machine *m, const char *name) {
    struct json *own = member(member(m->vector, "registers"), name);
    return value(own ? own : needed(needed(m->file, "registers"), name));
}

static void put(struct machine *m, int into_base, uint64_t address, const uint8_t *data, uint64_t size) {
    for (int i = 0; i < m->count; i++) {
        struct region *r = &m->regions[i];
        if (address >= r->start && (uint64_t)size <= r->size && address - r->start <= r->size - size)
            memcpy((into_base ? r->base : r->now) + (address - r->start), data, size);
    }
}

static char *whole_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long end = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    if (end < 0) fail("cannot be read", path);
    if (end > LARGEST) fail("is a folder, or too large", path); /* where a folder ends is LONG_MAX */
    rewind(file);
    *size = (size_t)end;
    char *content = room(*size + 1, 1);
    if (fread(content, 1, *size, file) != *size) fail("cannot be read", path);
    content[*size] = 0;
    fclose(file);
    return content;
}

/* Zeros, then the program file's segments. */
static void load(struct machine *m, const char *path) {
    size_t size;
    reading = path;
    m->file = room(1, sizeof *m->file);
    parse(whole_file(path, &size), m->file, 0);
    if (strcmp(text(m->file, "format"), "testbed vectors") || strcmp(text(m->file, "version"), "2"))
        fail("no test vectors of version 2", "");
    for (struct json *range = needed(m->file, "mapped")->first; range; range = range->next) {
        struct region *r = &m->regions[m->count++];
        if (m->count == REGIONS) fail("too many mappings", "");
        r->start = value(range->first);
        r->size = value(range->first->next) - r->start;
        if (r->size > LARGEST) fail("a mapping is too large", range->first->text);
        r->base = room(r->size, 1);
        r->now = room(r->size, 1);
    }
    struct json *image = needed(m->file, "image");
    const char *slash = strrchr(path, '/');
    char name[4096];
    snprintf(name, sizeof name, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, text(image, "file"));
    char *content = whole_file(name, &size);
    for (struct json *s = needed(image, "segments")->first; s; s = s->next) {
        uint64_t offset = number(s, "offset"), length = number(s, "file_size");
        if (length > size || offset > size - length) fail("a segment is not in the file", name);
        put(m, 1, number(s, "address"), (uint8_t *)content + offset, length);
    }
    free(content);
}

/* The vector's blocks over what the file says. */
static void set_vector(struct machine *m, struct json *vector) {
    m->vector = vector;
    for (int i = 0; i < m->count; i++) memcpy(m->regions[i].now, m->regions[i].base, m->regions[i].size);
    for (struct json *index = needed(vector, "memory")->first; index; index = index->next) {
        struct json *block = item_at(needed(m->file, "blocks"), value(index))->first;
        const char *hex = block && block->next && block->next->text ? block->next->text : "";
        if (strspn(hex, "0123456789abcdefABCDEF") != 128 || hex[128]) fail("a block is 64 bytes in hexadecimal", hex);
        uint8_t data[64];
        unsigned byte = 0;
        for (int i = 0; i < 64; i++) sscanf(hex + 2 * i, "%2x", &byte), data[i] = (uint8_t)byte;
        put(m, 0, value(block), data, sizeof data);
    }
}

/* ---- the judge ---- */

enum word { EXACT, STOP, FORETOLD, SHORT, LIE, WORDS };
static const char *const words[] = {"exact", "stop", "foretold", "SHORT", "LIE"};
static char detail[200];

static enum word lie(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(detail, sizeof detail, format, values);
    va_end(values);
    return LIE;
}

static int is_right_pc(struct json *caller, uint64_t pc) {
    struct json *also = member(caller, "also");
    for (struct json *item = also ? also->first : NULL; item; item = item->next)
        if (value(item) == pc) return 1;
    return number(caller, "pc") == pc;
}

static enum word judge(const struct machine *m, const struct said_frame *said, int count, int root) {
    const char *pc = strcmp(text(m->file, "arch"), "x86_64") ? "pc" : "rip";
    struct json *index = needed(m->vector, "callers")->first, *frame = m->vector;
    for (int i = 0; i < count; i++) {
        if (i) {
            if (!index) return lie("frame %d, %#" PRIx64 ", never was", i, said[i].pc);
            frame = item_at(needed(m->file, "callers"), value(index));
            index = index->next;
        }
        if (i ? !is_right_pc(frame, said[i].pc) : said[i].pc != register_named(m, pc))
            return lie("frame %d: pc %#" PRIx64 ", not %s", i, said[i].pc, i ? text(frame, "pc") : "the interrupted one");
        if (said[i].has_cfa && member(frame, "cfa") && said[i].cfa != number(frame, "cfa"))
            return lie("frame %d: CFA %#" PRIx64 ", not %s", i, said[i].cfa, text(frame, "cfa"));
        for (int j = 0; i && j < said[i].registers; j++) {
            struct json *right = member(member(frame, "registers"), said[i].reg[j].name);
            if (right && value(right) != said[i].reg[j].value)
                return lie("frame %d: %s %#" PRIx64 ", not %s", i, said[i].reg[j].name, said[i].reg[j].value, right->text);
        }
    }
    if (!count) return lie("no frames: the first one is the interrupted one");
    if (!root) return STOP;
    return index ? lie("frame %d is not the root", count - 1) : EXACT;
}

static enum word result(const struct machine *m, enum word word, const char *technique) {
    struct json *site = item_at(needed(m->file, "classes"), number(m->vector, "class"));
    if (!technique || !has(member(m->file, "techniques"), technique)) return word;
    if (word == LIE && has(member(site, "lie"), technique)) return FORETOLD;
    if (word == STOP && !has(member(site, "stop"), technique) && !has(member(site, "lie"), technique)) {
        strcpy(detail, "it stops, and its technique can be exact here");
        return SHORT;
    }
    return word;
}

/* ---- your unwinder: here an example that follows frame pointers ---- */

/* Writes at most FRAMES frames and returns how many; *root: the last one is claimed to be the outermost one. */
static int unwind(const struct machine *m, struct said_frame *frames, int *root) {
    int arm32 = !strcmp(text(m->file, "arch"), "arm32"), x86_64 = !strcmp(text(m->file, "arch"), "x86_64");
    int word = arm32 ? 4 : 8, count = 1;
    struct json *layouts = needed(needed(m->file, "image"), "frame_records"), *layout = layouts->first;
    if (member(m->vector, "isa")) layout = needed(layouts, text(m->vector, "isa"));
    uint64_t pointer = register_named(m, text(layout, "pointer")), saved, back;
    frames[0].pc = register_named(m, x86_64 ? "rip" : "pc");
    frames[0].has_cfa = frames[0].registers = 0;
    for (*root = 0; count < FRAMES; count++) {
        if (!pointer) return *root = 1, count; /* zero marks the outermost frame */
        if (!read_memory(m, pointer + number(layout, "saved_pointer"), word, &saved) ||
            !read_memory(m, pointer + number(layout, "return_address"), word, &back) || !back)
            return count;
        if (x86_64) frames[count - 1].has_cfa = 1, frames[count - 1].cfa = pointer + 16;
        if (saved && saved <= pointer) return count; /* records lie one above the other */
        struct said_frame *caller = &frames[count];
        caller->pc = arm32 ? back & ~(uint64_t)1 : back;
        caller->has_cfa = 0;
        caller->registers = 1;
        caller->reg[0].name = text(layout, "pointer");
        caller->reg[0].value = pointer = saved;
        if (arm32 && member(layouts, back & 1 ? "thumb" : "a32") != layout) return count + 1; /* another register */
    }
    return count;
}

int main(int argc, char **argv) {
    static const char *const phases[] = {"entry", "prologue", "body", "epilogue", "call"};
    static struct said_frame frames[FRAMES];
    unsigned long counts[5][WORDS] = {{0}}, failed = 0, vectors = 0;
    const char *technique = NULL;
    int first = 1, known = 0;
    if (argc > 2 && !strcmp(argv[1], "--technique")) technique = argv[2], first = 3;
    if (first >= argc) return fprintf(stderr, "usage: %s [--technique NAME] FILE.json...\n", argv[0]), 2;
    for (int i = first; i < argc; i++) {
        struct machine *m = room(1, sizeof *m);
        load(m, argv[i]);
        known |= technique && has(member(m->file, "techniques"), technique);
        unsigned long failed_before = failed;
        for (struct json *vector = needed(m->file, "vectors")->first; vector; vector = vector->next, vectors++) {
            int root = 0, phase = 0;
            set_vector(m, vector);
            int count = unwind(m, frames, &root);
            enum word word = result(m, judge(m, frames, count, root), technique);
            while (phase < 4 && strcmp(text(vector, "phase"), phases[phase])) phase++;
            counts[phase][word]++;
            if (word >= SHORT && failed++ == failed_before)
                printf("%s %s: vector %s (%s, %s): %s\n    %.*s%s\n", words[word], argv[i], text(vector, "id"),
                       text(vector, "where"), phases[phase], detail, (int)strcspn(text(m->file, "show"), "@") + 1,
                       text(m->file, "show"), text(vector, "id"));
        }
        for (int r = 0; r < m->count; r++) free(m->regions[r].base), free(m->regions[r].now);
        free(m); /* what was read as JSON is kept until the end: the files are small */
    }
    if (technique && !known) return fprintf(stderr, "%s: no file knows this technique; index.json names them\n", technique), 2;
    printf("%-9s", "phase");
    for (int w = 0; w < WORDS; w++) printf("%9s", words[w]);
    for (int phase = 0; phase < 5; phase++) {
        printf("\n%-9s", phases[phase]);
        for (int w = 0; w < WORDS; w++) printf("%9lu", counts[phase][w]);
    }
    printf("\n%lu vectors, %lu failed\n", vectors, failed);
    return failed || !vectors;
}
