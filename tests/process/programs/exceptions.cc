// Exceptions through several frames, with cleanups, rethrown, of the standard library, and out of virtual functions.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static int cleanups;

struct Guard {
    ~Guard() { cleanups++; }
};

struct Base {
    virtual ~Base() = default;
    virtual int at(std::vector<int> &values, unsigned place) = 0;
};

struct Checked : Base {
    int at(std::vector<int> &values, unsigned place) override {
        Guard guard;
        return values.at(place);
    }
};

__attribute__((noinline)) static void deep(int depth) {
    Guard guard;
    if (depth == 0) throw std::runtime_error("bottom");
    deep(depth - 1);
    std::puts("never");
}

__attribute__((noinline)) static int rethrown(int depth) {
    try {
        deep(depth);
    } catch (const std::exception &) {
        Guard guard;
        try {
            throw;
        } catch (const std::runtime_error &error) {
            return static_cast<int>(std::string(error.what()).size());
        }
    }
    return -1;
}

int main() {
    std::vector<int> values{1, 2, 3};
    Checked checked;
    Base *base = &checked;
    int sum = 0;
    for (unsigned place = 0; place < 5; place++) {
        try {
            sum += base->at(values, place);
        } catch (const std::out_of_range &) {
            sum += 100;
        }
    }
    for (int depth = 1; depth < 4; depth++) sum += rethrown(depth);
    try {
        throw 42;
    } catch (int number) {
        sum += number;
    }
    std::printf("%d %d\n", sum, cleanups);
    return 3;
}
