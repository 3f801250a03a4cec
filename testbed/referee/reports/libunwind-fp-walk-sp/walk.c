#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>

void walk(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    for (int frame = 0, more = 1; more > 0 && frame < 3; frame++) {
        char name[64] = "?";
        unw_word_t sp, offset;
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        unw_get_proc_name(&cursor, name, sizeof name, &offset);
        printf("%s: sp is in the frame: %s\n", name, sp < 0x7f0000000000 ? "no" : "yes");
        more = unw_step(&cursor);
    }
}
