// A thread of a block, with a stack of its own.
#pragma once

#include <ucontext.h>

#include "block.hpp"

namespace emulator {

enum class State { kReady, kWaitsForWarp, kWaitsForBlock, kDone };

struct Fiber {
    static constexpr size_t kStack = size_t{256} << 10;

    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStack]};
    void* shadow = nullptr;  // of AddressSanitizer
    unsigned thread = 0;
    State state = State::kReady;
    Copies copies;
    // The next of two places for what a warp shares: while a slow lane reads from one, a fast one may write to the other.
    int place = 0;
};

}  // namespace emulator
