// summary: a compute-heavy program for benchmarks: recursion, sorting through a pointer, hashing, a tree
// exit: 0

// SCALE rounds, all equal: the number of executed instructions is a constant plus SCALE times another.
#ifndef SCALE
#define SCALE 1
#endif

#define COUNT 16
#define BUCKETS 32

typedef int (*compare)(unsigned, unsigned);

struct node {
    struct node *less, *more;
    unsigned value;
};

volatile unsigned seed = 20261121;
volatile unsigned sink;
static unsigned values[COUNT], buckets[BUCKETS];
static struct node nodes[COUNT];

static unsigned state;

static unsigned next_value(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__attribute__((noinline)) static int ascending(unsigned a, unsigned b) {
    return a < b;
}

__attribute__((noinline)) static int descending(unsigned a, unsigned b) {
    return a > b;
}

__attribute__((noinline)) static void sort(unsigned *low, unsigned *high, compare before) {
    while (low < high) {
        unsigned pivot = low[(high - low) / 2];
        unsigned *i = low, *j = high;
        while (i <= j) {
            while (before(*i, pivot)) {
                i++;
            }
            while (before(pivot, *j)) {
                j--;
            }
            if (i <= j) {
                unsigned swapped = *i;
                *i++ = *j;
                *j-- = swapped;
            }
        }
        sort(low, j, before);
        low = i;
    }
}

__attribute__((noinline)) static unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static unsigned hash(const unsigned char *bytes, unsigned length) {
    unsigned h = 2166136261u;
    for (unsigned i = 0; i < length; i++) {
        h = (h ^ bytes[i]) * 16777619u;
    }
    return h;
}

__attribute__((noinline)) static struct node *insert(struct node *root, struct node *added) {
    if (!root) {
        return added;
    }
    if (added->value < root->value) {
        root->less = insert(root->less, added);
    } else {
        root->more = insert(root->more, added);
    }
    return root;
}

__attribute__((noinline)) static unsigned total(const struct node *root) {
    return root ? total(root->less) + root->value + total(root->more) : 0;
}

__attribute__((noinline)) static unsigned one_round(void) {
    unsigned result = fibonacci(8);
    struct node *root = 0;
    state = seed;
    for (unsigned i = 0; i < BUCKETS; i++) {
        buckets[i] = 0;
    }
    for (unsigned i = 0; i < COUNT; i++) {
        values[i] = next_value();
        nodes[i].less = nodes[i].more = 0;
        nodes[i].value = values[i];
        root = insert(root, &nodes[i]);
        buckets[hash((const unsigned char *)&values[i], sizeof values[i]) % BUCKETS] += i;
    }
    sort(values, values + COUNT - 1, ascending);
    sort(values, values + COUNT - 1, descending);
    return result + total(root) + values[COUNT / 2] + buckets[7];
}

int main(void) {
    for (unsigned i = 0; i < SCALE; i++) {
        sink += one_round();
    }
    return 0;
}
