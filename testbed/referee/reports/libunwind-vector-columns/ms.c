#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>

__attribute__((noinline)) void walk(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    char name[64];
    unw_word_t offset;
    int more;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    do {
        unw_get_proc_name(&cursor, name, sizeof name, &offset);
        puts(name);
        more = unw_step(&cursor);
    } while (more > 0);
    printf("unw_step() = %d%s%s\n", more, more ? ": " : "", more ? unw_strerror(more) : "");
}

__attribute__((noinline, ms_abi)) void callback(void) { walk(); asm volatile(""); }

int main(void) { callback(); asm volatile(""); return 0; }
