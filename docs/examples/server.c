#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static long sum(const int *v, int n) {
  long s = 0;
  for (int i = 0; i < n; i++) s += v[i] * (i & 3);
  return s;
}

__attribute__((noinline)) static long up(int *v, int n) { return n > 1 ? up(v, n - 1) + v[n - 1] : sum(v, 200); }

int main(int argc, char **argv) {
  int v[300];
  for (int i = 0; i < 300; i++) v[i] = (i * 7919) % 1000;
  qsort(v, 300, sizeof *v, compare);
  printf("%ld %d\n", up(v, 100), argc);
  return 0;
}
