// summary: C++: namespaces, a template, overloads and members, one of them inlined, one left by a tail call
// exit: 55
// frames: _ZN5shape4areaEi = _ZN5shape4areaEi, _ZN5shape3Box6volumeEi, main, _start
// logical: _ZN5shape5twiceIiEET_S1_ = _ZN5shape5twiceIiEET_S1_, [_ZNK5shape3Box6offsetEv], _ZN5shape3Box6volumeEi,
//   main, _start
// logical: _ZN5shape4areaEii = _ZN5shape4areaEii, <_ZN5shape3Box4wideEii>, main, _start
// recipes: clang-O0, clang-O2, clang-O2-fp, clang-thumb-O2, gcc-O0, gcc-O2*, gcc-thumb-O2

#ifdef __clang__
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return  // gcc before 15 has no such attribute, and makes the tail call at -O2
#endif

volatile int seed = 3;

namespace shape {

__attribute__((noinline)) int area(int side) {
    seed = seed + 1;
    return side * side;
}

__attribute__((noinline)) int area(int width, int height) {
    seed = seed + 2;
    return width * height;
}

template <typename Number>
__attribute__((noinline)) Number twice(Number x) {
    seed = seed + 1;
    return x + x;
}

struct Box {
    int side;

    __attribute__((noinline)) int volume(int height) {
        int base = area(side);
        return base * height + offset();
    }

    inline __attribute__((always_inline)) int offset() const {
        int found = twice(seed);
        return found + 1;
    }

    __attribute__((noinline)) static int wide(int width, int height) {
        seed = seed + height;
        TAIL area(width, height);
    }
};

}  // namespace shape

extern "C" int main() {
    shape::Box box{seed};
    int result = box.volume(4);
    result += shape::Box::wide(2, seed);
    seed = result;
    return result;
}
