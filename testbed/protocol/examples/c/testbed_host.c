/* testbed_host.c: the protocol of docs/protocol.md for one function unwind(), see testbed_unwinder.h. Plain C99, POSIX.
 *
 * The lines that come are written so that no JSON reader is needed: no spaces, no key twice in a line.
 */
#define _POSIX_C_SOURCE 200809L
#include "testbed_unwinder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { AHEAD = 1024, LARGEST_READ = 1 << 20 };

static char *line; /* the last line that came, and the room that it has */
static size_t line_room;
static struct testbed_image *images;
static unsigned image_count;
static char arch[16], pc_name[16], sp_name[16];
static struct testbed_snapshot snapshot;
static char names[TESTBED_MAX_REGISTERS][16];
static struct testbed_frame frames[TESTBED_MAX_FRAMES];

/* Two pieces of memory: the stack that came with the snapshot, and what was read last. */
static struct piece {
    uint64_t address;
    unsigned char *data;
    size_t size, room;
} pieces[2];

static void give_up(const char *why) {
    fprintf(stderr, "testbed_host: %s\n", why);
    exit(2);
}

static void *room_for(void *data, size_t *room, size_t size) {
    if (size <= *room) return data;
    data = realloc(data, *room = size);
    if (!data) give_up("no memory");
    return data;
}

/* The next line, without its end; 0 at the end of the input. */
static int next_line(void) {
    ssize_t length = getline(&line, &line_room, stdin);
    if (length <= 0) return 0;
    if (line[length - 1] == '\n') line[length - 1] = 0;
    return 1;
}

static void send(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static void send_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= 32) putchar(*text);
    }
    putchar('"');
}

/* Behind `"key":`, or NULL. */
static const char *value_of(const char *key) {
    char pattern[40];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *found = strstr(line, pattern);
    return found ? found + strlen(pattern) : NULL;
}

/* A number, be it 12 or "0x12"; null is `otherwise`. */
static uint64_t number_of(const char *key, uint64_t otherwise) {
    const char *value = value_of(key);
    if (!value || *value == 'n') return otherwise;
    return strtoull(value + (*value == '"'), NULL, *value == '"' ? 16 : 10);
}

static int is_type(const char *type) {
    const char *value = value_of("type");
    return value && !strncmp(value + 1, type, strlen(type)) && value[1 + strlen(type)] == '"';
}

static unsigned digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static unsigned hex4(const char *at) { return digit(at[0]) << 12 | digit(at[1]) << 8 | digit(at[2]) << 4 | digit(at[3]); }

/* Hexadecimal digits up to the next quote, as bytes. */
static void take_bytes(const char *key, struct piece *into) {
    const char *from = value_of(key), *end;
    if (!from || *from != '"' || !(end = strchr(++from, '"'))) give_up("a line has no bytes");
    into->size = (size_t)(end - from) / 2;
    into->data = room_for(into->data, &into->room, into->size);
    for (size_t i = 0; i < into->size; i++) into->data[i] = (unsigned char)(digit(from[2 * i]) << 4 | digit(from[2 * i + 1]));
}

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) return *to++ = (char)code, to;
    if (code < 0x800) return *to++ = (char)(0xc0 | code >> 6), *to++ = (char)(0x80 | (code & 63)), to;
    if (code < 0x10000) *to++ = (char)(0xe0 | code >> 12);
    else *to++ = (char)(0xf0 | code >> 18), *to++ = (char)(0x80 | (code >> 12 & 63));
    return *to++ = (char)(0x80 | (code >> 6 & 63)), *to++ = (char)(0x80 | (code & 63)), to;
}

/* A JSON text, its escapes resolved. A lone \udcXX is the byte XX of a path that is not UTF-8. */
static char *take_text(const char *key) {
    const char *from = value_of(key);
    if (!from || *from++ != '"') give_up("a line lacks a text");
    char *text = malloc(strlen(from) + 1), *to = text;
    if (!text) give_up("no memory");
    while (*from && *from != '"') {
        if (*from != '\\') { *to++ = *from++; continue; }
        from += 2;
        switch (from[-1]) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'u': {
            unsigned code = hex4(from);
            from += 4;
            if (code >= 0xd800 && code < 0xdc00 && from[0] == '\\' && from[1] == 'u') {
                code = 0x10000 + ((code - 0xd800) << 10) + (hex4(from + 2) - 0xdc00);
                from += 6;
            }
            if (code >= 0xdc80 && code <= 0xdcff) *to++ = (char)(code & 0xff);
            else to = put_utf8(to, code);
            break;
        }
        default: *to++ = from[-1];
        }
    }
    *to = 0;
    return text;
}

static size_t ask_for(uint64_t address, size_t size) {
    fflush(stdout);
    if (!next_line()) exit(0);
    take_bytes("bytes", &pieces[1]);
    pieces[1].address = address;
    return pieces[1].size < size ? pieces[1].size : size;
}

static size_t read_memory(void *host, uint64_t address, void *to, size_t size) {
    size_t done = 0;
    (void)host;
    for (unsigned i = 0; i < 2; i++)
        if (address - pieces[i].address < pieces[i].size && size <= pieces[i].size - (address - pieces[i].address)) {
            memcpy(to, pieces[i].data + (address - pieces[i].address), size);
            return size;
        }
    while (done < size) { /* in pieces: one message has an end */
        size_t want = size - done < LARGEST_READ ? size - done : LARGEST_READ;
        size_t ahead = want < AHEAD ? AHEAD : want;
        send("{\"type\":\"read\",\"address\":\"0x%llx\",\"size\":%zu}\n", (unsigned long long)(address + done), ahead);
        size_t got = ask_for(address + done, want);
        memcpy((char *)to + done, pieces[1].data, got);
        done += got;
        if (got < want) break;
    }
    return done;
}

static size_t read_file(void *host, const struct testbed_image *image, uint64_t offset, void *to, size_t size) {
    size_t done = 0;
    (void)host;
    while (done < size) {
        size_t want = size - done < LARGEST_READ ? size - done : LARGEST_READ;
        send("{\"type\":\"read_file\",\"image\":%u,\"offset\":%llu,\"size\":%zu}\n", (unsigned)(image - images),
             (unsigned long long)(offset + done), want);
        size_t got = ask_for(0, want);
        memcpy((char *)to + done, pieces[1].data, got);
        pieces[1].size = 0; /* it is no memory */
        done += got;
        if (got < want) break;
    }
    return done;
}

static struct testbed_image *find_image(void *host, uint64_t address) {
    (void)host;
    for (unsigned i = 0; i < image_count; i++)
        if (address - images[i].start < images[i].end - images[i].start) return &images[i];
    return NULL;
}

/* A short text without escapes. */
static void take_name(const char *key, char to[16]) {
    const char *from = value_of(key);
    if (!from || sscanf(from, "\"%15[^\"]", to) != 1) give_up("a line lacks a name");
}

static void open_session(void) {
    for (unsigned i = 0; i < image_count; i++) {
        free((void *)images[i].path);
        free((void *)images[i].frame_records);
    }
    take_name("arch", arch);
    take_name("pc", pc_name);
    take_name("sp", sp_name);
    snapshot.arch = arch;
    snapshot.word = (unsigned)number_of("word", 8);
    snapshot.pac_mask = number_of("pac_mask", 0);
    image_count = (unsigned)number_of("images", 0);
    images = realloc(images, (image_count + 1) * sizeof *images);
    if (!images) give_up("no memory");
    for (unsigned i = 0; i < image_count; i++) {
        if (!next_line() || !is_type("image")) give_up("an image is missing");
        const char *records = value_of("frame_records"), *end = records ? strchr(records, '}') : NULL;
        images[i] = (struct testbed_image){take_text("path"),       number_of("bias", 0), number_of("start", 0),
                                           number_of("end", 0),     number_of("size", 0),
                                           strndup(records ? records : "{}", end ? (size_t)(end - records) + 1 : 2), NULL};
    }
    send("{\"type\":\"ready\"}\n");
}

static void take_registers(void) {
    const char *at = value_of("registers");
    snapshot.register_count = 0;
    if (!at || *at != '{') give_up("a snapshot has no registers");
    while (*++at == '"' && snapshot.register_count < TESTBED_MAX_REGISTERS) {
        const char *end = strchr(at + 1, '"'), *value = end ? end + 3 : at; /* "name":"0x.." */
        struct testbed_register *one = &snapshot.registers[snapshot.register_count];
        char *rest;
        if (!end || end - at > 15) give_up("a register has a long name");
        memcpy(names[snapshot.register_count], at + 1, (size_t)(end - at - 1));
        names[snapshot.register_count][end - at - 1] = 0;
        one->name = names[snapshot.register_count++];
        one->value = strtoull(value, &rest, 16);
        at = rest + 1; /* the comma or the end */
        if (*at != ',') break;
    }
}

static void answer(void) {
    struct testbed_callbacks ask = {NULL, read_memory, find_image, read_file};
    struct testbed_backtrace said = {0, frames, NULL};
    unsigned long long id = number_of("id", 0);
    take_registers();
    pieces[1].size = 0;
    take_bytes("stack", &pieces[0]);
    pieces[0].address = number_of("stack_address", 0);
    if (!testbed_register(&snapshot, pc_name, &snapshot.pc) || !testbed_register(&snapshot, sp_name, &snapshot.sp))
        give_up("a snapshot has no pc or no SP");
    testbed_add_frame(&said, snapshot.pc)->interrupted = 1;
    int end = unwind(&snapshot, &ask, &said);
    send("{\"type\":\"frames\",\"id\":%llu,\"frames\":[", id);
    for (unsigned i = 0; i < said.frame_count; i++) {
        const struct testbed_frame *frame = &frames[i];
        send("%s{\"pc\":\"0x%llx\"", i ? "," : "", (unsigned long long)frame->pc);
        if (frame->cfa_known) send(",\"cfa\":\"0x%llx\"", (unsigned long long)frame->cfa);
        if (frame->interrupted) send(",\"interrupted\":true");
        for (unsigned j = 0; j < frame->register_count; j++)
            send("%s\"%s\":\"0x%llx\"", j ? "," : ",\"registers\":{", frame->registers[j].name,
                 (unsigned long long)frame->registers[j].value);
        send(frame->register_count ? "}}" : "}");
    }
    if (end == TESTBED_ROOT) {
        send("],\"root\":true}\n");
    } else {
        send("],\"stopped\":");
        send_text(said.reason ? said.reason : "no reason given");
        send("}\n");
    }
}

static void hello(void) {
    if (number_of("protocol", 0) != 1) give_up("this host speaks protocol 1");
    send("{\"type\":\"hello\",\"protocol\":1,\"name\":");
    send_text(testbed_name);
    send(",\"version\":");
    send_text(testbed_version);
    send(",\"arches\":[\"");
    for (const char *at = testbed_arches; *at; at++) {
        if (*at == ' ') send("\",\"");
        else putchar(*at);
    }
    send("\"]}\n");
}

int main(void) {
    while (next_line()) {
        if (is_type("hello")) hello();
        else if (is_type("session")) open_session();
        else if (is_type("snapshot")) answer();
        else give_up("a line of a type that is not known");
        fflush(stdout);
    }
    return 0;
}
