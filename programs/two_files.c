// summary: C in two files with a header of their own, and one more in assembly for each instruction set
// exit: 51
// sources: parts/two_files/second.c, parts/two_files/third.x86_64.S, parts/two_files/third.arm64.S,
//   parts/two_files/third.a32.S, parts/two_files/third.thumb.S
// include: parts/two_files/include
// flags: -DSTART=8 -fno-strict-aliasing
// recipes: clang-O0-fp, clang-O2, clang-thumb-O2, gcc-O2, gcc-thumb-O2
// frames: second = second, main, _start
// frames: third = third, second, main, _start
#include "two_files.h"
volatile unsigned start = START;

int main(void) {
    unsigned found = second(start);
    return (int)(found + 1);
}
