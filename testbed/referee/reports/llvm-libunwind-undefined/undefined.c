#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>

void lost(void);

void walk(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t rbx;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    unw_step(&cursor); /* lost */
    unw_step(&cursor); /* main */
    if (unw_get_reg(&cursor, UNW_X86_64_RBX, &rbx) != UNW_ESUCCESS)
        printf("rbx is not known\n");
    else
        printf("rbx is %#lx\n", (unsigned long)rbx);
    exit(0);
}

int main(void)
{
    lost();
    return 1;
}
