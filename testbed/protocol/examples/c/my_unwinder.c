/* An unwinder by frame pointers: follow the list of frame records. Build and try it:
 *
 *     cc -O2 -o my_unwinder my_unwinder.c testbed_host.c
 *     testbed protocol --check --unwinder-cmd ./my_unwinder
 *     testbed run leaf_call --unwinder-cmd ./my_unwinder
 *
 * A record is two words: the caller's frame pointer, and the return address behind it.
 */
#include "testbed_unwinder.h"

const char testbed_name[] = "frame_pointers_in_c", testbed_version[] = "1", testbed_arches[] = "x86_64 arm64";

static int stopped(struct testbed_backtrace *said, const char *reason) {
    said->reason = reason;
    return TESTBED_STOPPED;
}

int unwind(const struct testbed_snapshot *at, const struct testbed_callbacks *ask, struct testbed_backtrace *said) {
    const char *frame_pointer = strcmp(at->arch, "x86_64") ? "x29" : "rbp";
    uint64_t record[2], fp, lowest = at->sp;

    if (!testbed_register(at, frame_pointer, &fp)) return stopped(said, "the frame pointer is unknown");
    while (fp) {
        if (fp < lowest || fp % 8) return stopped(said, "the frame pointer leads nowhere");
        if (ask->read_memory(ask->host, fp, record, sizeof record) < sizeof record)
            return stopped(said, "the frame record cannot be read");
        uint64_t pc = record[1] & ~at->pac_mask;
        if (!ask->find_image(ask->host, pc - 1)) return stopped(said, "the return address lies in no program");
        struct testbed_frame *frame = testbed_add_frame(said, pc);
        if (!frame) return stopped(said, "too many frames");
        testbed_claim(frame, frame_pointer, record[0]);
        lowest = fp + sizeof record;
        fp = record[0];
    }
    return TESTBED_ROOT; /* the outermost frame has a frame pointer of zero */
}
