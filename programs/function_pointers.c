// summary: calls through pointers: a table of functions, and a callback handed down two levels
// exit: 173
// recipes: clang-*, gcc-*, macho-*
// frames: twice = twice, apply, main, _start
// frames: square = square, apply, main, _start
// frames: decrement#1 = decrement, apply, main, _start
// frames: decrement#2 = decrement, relay, apply, main, _start

typedef unsigned function(unsigned);

volatile unsigned operand = 6;
volatile unsigned last;
function *volatile callback;

__attribute__((noinline)) unsigned twice(unsigned x) {
    last = x;
    return x + x;
}

__attribute__((noinline)) unsigned square(unsigned x) {
    last = x;
    return x * x;
}

__attribute__((noinline)) unsigned decrement(unsigned x) {
    last = x;
    return x - 1;
}

__attribute__((noinline)) unsigned relay(unsigned x) {
    function *inner = callback;
    unsigned result = inner(x);
    last = result;
    return result + 3;
}

// Volatile entries: the compiler must load and call what it finds there.
function *volatile table[] = {twice, square, decrement, relay};

__attribute__((noinline)) unsigned apply(function *called, unsigned x) {
    unsigned result = called(x);
    last = result;
    return result + 1;
}

int main(void) {
    unsigned x = operand;
    callback = decrement;
    for (unsigned i = 0; i < 4; i++) {
        x = apply(table[i], x);
        last = x;
    }
    return (int)x;
}
