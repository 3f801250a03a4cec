// summary: C++ with exception tables: cleanups, a handler, and arguments pushed around calls that may throw
// exit: 70
// recipes: eh-*
// trap: 28 gimli-rs/gimli#130
// frames: seven = seven, work, main, _start
// frames: closed#1 = closed, work, main, _start
// frames: closed#2 = closed, caught, main, _start

#define NOINLINE __attribute__((noinline))
#define OPAQUE __attribute__((noinline, weak))  // weak: nobody may conclude from its body that it throws nothing

// What the tables name: nothing is thrown, so nothing here runs.
extern "C" {
[[noreturn]] static void never() {
    for (;;)
        __builtin_trap();
}
int __gxx_personality_v0(...) { never(); }
[[noreturn]] void _Unwind_Resume(void *) { never(); }
void *__cxa_begin_catch(void *) { never(); }
void __cxa_end_catch() { never(); }
[[noreturn]] void __cxa_call_unexpected(void *) { never(); }
[[noreturn]] void __clang_call_terminate(void *) { never(); }

volatile int start = 3;
volatile int sum = 0;

OPAQUE void closed(int n) { sum = sum + n; }

OPAQUE int maybe(int n) {
    if (n > 1000)
        never();
    sum = sum + 1;
    return n + 1;
}

// More arguments than there are registers for: they are pushed
OPAQUE int seven(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    sum = sum + a;
    return a + b + c + d + e + f + g + h + i + j;
}
}

namespace {
struct Open {
    int n;
    explicit Open(int n) : n(n) {}
    ~Open() { closed(n); }
};
}

extern "C" NOINLINE int work(int n) {
    Open open(n);
    int all = seven(n, n, n, n, n, n, n, n, n, n + 1);
    return all + maybe(n);
}

extern "C" NOINLINE int caught(int n) {
    try {
        Open open(n + 1);
        return maybe(n) + 2;
    } catch (...) {
        return 1000;
    }
}

extern "C" int main() {
    int n = start;
    return work(n) + caught(n) + sum + 17;
}
