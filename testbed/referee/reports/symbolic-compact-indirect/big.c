__attribute__((noinline)) void fill(volatile char *bytes) { bytes[0] = 1; }
__attribute__((noinline)) int big(void) { volatile char bytes[20532]; fill(bytes); return bytes[0]; }
int main(void) { return big(); }
