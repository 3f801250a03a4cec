#include <stdio.h>
__attribute__((noinline)) void inner(void) { puts("hello"); asm volatile(""); }
__attribute__((noinline)) void outer(void) { inner(); asm volatile(""); }
int main(void) { outer(); return 0; }
