#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>

void walk(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    int more;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    do {
        char name[64] = "?";
        unw_word_t offset;
        unw_get_proc_name(&cursor, name, sizeof name, &offset);
        puts(name);
        more = unw_step(&cursor);
    } while (more > 0);
    printf("unw_step() = %d\n", more);
    exit(0);
}
