/* qsort, malloc and realloc of many sizes, memmove, snprintf. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    int values[300];
    unsigned state = 1;
    for (int i = 0; i < 300; i++) values[i] = (state = state * 1103515245 + 12345) >> 16 & 0xfff;
    qsort(values, 300, sizeof *values, compare);
    char *text = NULL;
    size_t used = 0;
    for (int i = 0; i < 300; i += 7) {
        char piece[32];
        int length = snprintf(piece, sizeof piece, "%d,", values[i]);
        text = realloc(text, used + length + 1);
        memcpy(text + used, piece, length + 1);
        used += length;
    }
    char *large = calloc(1, 1 << 20);
    memmove(large + 5, text, used + 1);
    for (int i = 0; i < 3; i++) large = realloc(large, (2 << 20) << i);
    puts(large + 5);
    free(large);
    free(text);
    return (int)(used % 100);
}
