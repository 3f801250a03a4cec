#include <execinfo.h>
__attribute__((noinline)) void walk(void) { void *a[9]; backtrace_symbols_fd(a, backtrace(a, 9), 1); }
__attribute__((noinline, ms_abi)) void callback(void) { walk(); asm volatile(""); }
int main(void) { callback(); asm volatile(""); return 0; }
