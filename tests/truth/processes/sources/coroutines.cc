// C++20 coroutines: a generator, a task that awaits another by symmetric transfer, and one that is destroyed half way.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

struct generator {
    struct promise_type {
        int value = 0;
        generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> frame;
    ~generator() { frame.destroy(); }
};

struct task {
    struct promise_type {
        int value = 0;
        std::coroutine_handle<> then = std::noop_coroutine();
        struct last {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept { return h.promise().then; }
            void await_resume() noexcept {}
        };
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        last final_suspend() noexcept { return {}; }
        void return_value(int v) { value = v; }
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> from) { frame.promise().then = from; return frame; }
    int await_resume() { int v = frame.promise().value; frame.destroy(); return v; }
};

static generator numbers(int from, int to)
{
    for (int n = from; n < to; n++) {
        if (n == 7)
            throw n;
        co_yield n;
    }
}

static task sum(int n)
{
    if (n == 0)
        co_return 0;
    co_return n + co_await sum(n - 1);
}

int main()
{
    int all = 0;
    {
        generator some = numbers(0, 5);
        for (some.frame.resume(); !some.frame.done() && some.frame.promise().value < 3; some.frame.resume())
            all += some.frame.promise().value;
    }
    generator thrown = numbers(5, 9);
    try {
        for (;;)
            thrown.frame.resume();
    } catch (int n) {
        all += 10 * n;
    }
    task one = sum(6);
    one.frame.resume();
    std::printf("%d\n", all + 100 * one.await_resume());
}
