// A block of threads on the CPU: each thread is a fiber that runs until it waits for its warp or for its block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace emulator {

// Says what a kernel did that a GPU would not do, with its block and thread, and ends the process.
[[noreturn]] void fail(const char* what);

struct Dim3 {
    unsigned x = 0, y = 0, z = 0;
};

// The asynchronous copies of a thread. Each is done at once or when it is waited for, at random.
class Copies {
public:
    void start(void* shared, const void* global, size_t bytes);
    void commit();
    void wait(size_t pending);
    // Whether some have not been waited for.
    bool pending() const;

private:
    struct Copy {
        void* shared;
        const void* global;
        size_t bytes;
    };
    std::vector<Copy> open_;
    std::vector<std::vector<Copy>> groups_;
};

struct Fiber;

class Block {
public:
    Dim3 thread, index;
    // Different for every block that has run.
    uint64_t serial = 0;
    std::mt19937 random{1};

    // Runs one block of `threads` threads, all of which call `kernel`.
    void run(unsigned threads, Dim3 at, const std::function<void()>& kernel);

    void wait_for_block();
    void wait_for_warp();
    int lane() const { return static_cast<int>(thread.x % 32); }
    Fiber& current() const { return *current_; }

    // What each lane of this thread's warp passes here, as a pointer to 32 values. All lanes must call it together.
    template <typename T>
    const T* share(const T& value);

private:
    std::vector<std::unique_ptr<Fiber>> fibers_;
    const std::function<void()>* kernel_ = nullptr;
    Fiber* current_ = nullptr;

    bool run_warp(size_t first);
    void resume(Fiber& fiber);
    void* exchange_place(size_t bytes);
    static void start();
};

extern Block block;

template <typename T>
const T* Block::share(const T& value) {
    T* values = static_cast<T*>(exchange_place(sizeof(T)));
    values[lane()] = value;
    wait_for_warp();
    return values;
}

}  // namespace emulator

#include "fiber.hpp"
