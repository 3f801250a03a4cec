__attribute__((noinline)) int twice(int x) { asm volatile(""); return x + x; }
__attribute__((noinline)) int apply(int x) { int found = twice(x); asm volatile("" : "+r"(found)); return found + 1; }
__attribute__((noinline)) int outer(int x) { int found = apply(x); asm volatile("" : "+r"(found)); return found + 1; }
int main(void) { int found = outer(3); asm volatile("" : "+r"(found)); return found - 8; }
