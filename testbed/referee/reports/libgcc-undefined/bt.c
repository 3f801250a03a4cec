#include <execinfo.h>
#include <stdlib.h>

void outer(void);

void walk(void)
{
    void *found[20];
    backtrace_symbols_fd(found, backtrace(found, 20), 1);
    exit(0);
}

int main(void)
{
    outer();
    return 1;
}
