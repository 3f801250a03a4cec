#include "two_files.h"

__attribute__((noinline)) unsigned second(unsigned x) {
    volatile unsigned local = x * 3;
    return third(local) + local + start;
}
