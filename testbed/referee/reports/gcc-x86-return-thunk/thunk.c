__attribute__((noinline)) int leaf(int x) { asm volatile(""); return x + 4; }
__attribute__((noinline)) int inner(int x) { return leaf(x) - 1; }
int main(void) { return inner(3) - 6; }
