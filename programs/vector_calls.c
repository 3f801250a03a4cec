// summary: AArch64 vector calls: functions that keep whole vector registers, marked in the symbol table
// exit: 30
// frames: vector_caller#1 = vector_caller, main, _start
// frames: vector_leaf#2 = vector_leaf, vector_caller, main, _start

#ifdef __aarch64__
#define VECTOR __attribute__((noinline, aarch64_vector_pcs))
#else
#define VECTOR __attribute__((noinline))
#endif

static volatile double cells[4] = {1.0, 2.0, 3.0, 4.0};

__attribute__((noinline)) static double plain(double x) {
    cells[0] = x;
    return cells[1] + x;
}

VECTOR double vector_leaf(double x) {
    double a = cells[0], b = cells[1], c = cells[2], d = cells[3];
    __asm__ volatile("" : : : "memory");
    return a * x + b * x + c + d;
}

VECTOR double vector_caller(double x) {
    return plain(x) + plain(x + 1.0) + vector_leaf(x);
}

int main(void) {
    double sum = 0;
    for (int i = 0; i < 2; i++)
        sum += vector_caller(i);
    return (int)sum;
}
