/* Output with doubles: floating-point control words must be what Linux sets. */
#include <stdio.h>

int main(int argc, char **argv) {
    volatile double pi = 3.14159265358979;
    volatile long double third = 1.0L / 3;
    printf("hello %d %s %.3f %.10f %.18Lf\n", argc, argc > 1 ? argv[1] : "-", pi, pi * 2, third);
    return 7;
}
