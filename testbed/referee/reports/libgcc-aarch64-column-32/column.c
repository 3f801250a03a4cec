#include <execinfo.h>
#include <unistd.h>

void tramp(void);

void walk(void)
{
    void *found[9];
    int count = backtrace(found, 9);
    write(1, count > 2 ? "walked\n" : "ended\n", 7 - (count <= 2));
}

int main(void)
{
    tramp();
    return 0;
}
