// Exceptions: past frames with destructors, thrown on from a handler, out of a destructor's function, and a foreign cleanup.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static int gone;
struct mark { int n; ~mark() { gone += n; } };

__attribute__((noinline)) static int deep(int n)
{
    mark here{n};
    if (n == 0)
        throw std::runtime_error(std::string(40, 'x'));
    std::vector<int> room(n, n);
    return deep(n - 1) + room[0];
}

__attribute__((noinline)) static int again(int n)
{
    try {
        return deep(n);
    } catch (std::logic_error &) {
        return 1;
    } catch (std::exception &) {
        mark here{1000};
        throw;
    }
}

int main()
{
    int caught = 0;
    for (int n = 0; n < 4; n++) {
        try {
            caught += again(n);
        } catch (std::runtime_error &error) {
            caught += std::string(error.what()).size();
        }
    }
    std::printf("%d %d\n", gone, caught);
}
