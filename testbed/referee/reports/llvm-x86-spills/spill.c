__attribute__((noinline)) void g(void) { asm volatile(""); }
__attribute__((noinline, ms_abi)) void f(void) { g(); asm volatile(""); }
int main(void) { f(); asm volatile(""); return 0; }
