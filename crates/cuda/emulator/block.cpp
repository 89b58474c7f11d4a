#include "block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
#endif

namespace emulator {

Block block;

namespace {

constexpr size_t kWarp = 32;

// Where the fibers come back to: the stack of the thread that runs the block.
ucontext_t main_context;
const void* main_stack;
size_t main_stack_size;

}  // namespace

void fail(const char* what) {
    std::fprintf(stderr, "emulator: %s, in block %u, thread %u\n", what, block.index.x, block.thread.x);
    std::abort();
}

void Copies::start(void* shared, const void* global, size_t bytes) {
    const Copy copy{shared, global, bytes};
    if (block.random() % 2 == 0) {
        open_.push_back(copy);
    } else {
        std::memcpy(shared, global, bytes);
        std::memset(static_cast<char*>(shared) + bytes, 0, 16 - bytes);
    }
}

void Copies::commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
}

void Copies::wait(size_t pending) {
    while (groups_.size() > pending) {
        for (const Copy& copy : groups_.front()) {
            std::memcpy(copy.shared, copy.global, copy.bytes);
            std::memset(static_cast<char*>(copy.shared) + copy.bytes, 0, 16 - copy.bytes);
        }
        groups_.erase(groups_.begin());
    }
}

bool Copies::pending() const {
    return !open_.empty() || std::any_of(groups_.begin(), groups_.end(), [](const auto& group) { return !group.empty(); });
}

void Block::start() {
    __sanitizer_finish_switch_fiber(nullptr, &main_stack, &main_stack_size);
    (*block.kernel_)();
    Fiber& fiber = *block.current_;
    if (fiber.copies.pending()) fail("a thread ends before its copies have arrived");
    fiber.state = State::kDone;
    __sanitizer_start_switch_fiber(nullptr, main_stack, main_stack_size);
    swapcontext(&fiber.context, &main_context);
}

void Block::resume(Fiber& fiber) {
    current_ = &fiber;
    thread = Dim3{fiber.thread, 0, 0};
    void* shadow = nullptr;
    __sanitizer_start_switch_fiber(&shadow, fiber.stack.get(), Fiber::kStack);
    swapcontext(&main_context, &fiber.context);
    __sanitizer_finish_switch_fiber(shadow, nullptr, nullptr);
}

static void wait(Fiber& fiber, State state) {
    fiber.state = state;
    __sanitizer_start_switch_fiber(&fiber.shadow, main_stack, main_stack_size);
    swapcontext(&fiber.context, &main_context);
    __sanitizer_finish_switch_fiber(fiber.shadow, &main_stack, &main_stack_size);
}

void Block::wait_for_block() { wait(*current_, State::kWaitsForBlock); }

void Block::wait_for_warp() { wait(*current_, State::kWaitsForWarp); }

void* Block::exchange_place(size_t bytes) {
    constexpr size_t kLargest = 64;
    static std::vector<char> places;
    if (bytes > kLargest) fail("a lane shares too much");
    places.resize(fibers_.size() * kLargest * 2);
    Fiber& fiber = *current_;
    fiber.place = 1 - fiber.place;
    const size_t warp = fiber.thread / kWarp;
    return places.data() + (warp * 2 + static_cast<size_t>(fiber.place)) * kWarp * kLargest;
}

// Runs the lanes of a warp until each waits for the block or is done. Returns whether any ran.
bool Block::run_warp(size_t first) {
    std::vector<Fiber*> lanes;
    for (size_t i = first; i < first + kWarp; ++i) lanes.push_back(fibers_[i].get());
    bool ran = false;
    for (;;) {
        std::shuffle(lanes.begin(), lanes.end(), random);
        for (Fiber* lane : lanes) {
            if (lane->state == State::kReady) resume(*lane), ran = true;
        }
        const auto waits = [](const Fiber* lane) { return lane->state == State::kWaitsForWarp; };
        const auto waiting = std::count_if(lanes.begin(), lanes.end(), waits);
        if (waiting == 0) return ran;
        if (waiting != kWarp) fail("some lanes of a warp wait for the others, which do something else");
        for (Fiber* lane : lanes) lane->state = State::kReady;
        // Another warp may overtake this one anywhere.
        if (random() % 4 == 0) return true;
    }
}

void Block::run(unsigned threads, Dim3 at, const std::function<void()>& kernel) {
    if (threads % kWarp != 0) fail("a block that does not consist of whole warps");
    index = at;
    ++serial;
    kernel_ = &kernel;
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    for (unsigned i = 0; i < threads; ++i) {
        Fiber& fiber = *fibers_[i];
        fiber.thread = i, fiber.state = State::kReady, fiber.copies = Copies{}, fiber.place = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = Fiber::kStack;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, &Block::start, 0);
    }
    std::vector<size_t> warps;
    for (size_t first = 0; first < threads; first += kWarp) warps.push_back(first);
    for (;;) {
        std::shuffle(warps.begin(), warps.end(), random);
        bool ran = false;
        for (const size_t first : warps) ran |= run_warp(first);
        if (ran) continue;
        const auto count = [&](State state) {
            const auto is = [state](const auto& fiber) { return fiber->state == state; };
            return std::count_if(fibers_.begin(), fibers_.begin() + threads, is);
        };
        if (count(State::kDone) == threads) return;
        if (count(State::kWaitsForBlock) != threads) fail("some threads of a block wait for the others, which have ended");
        for (unsigned i = 0; i < threads; ++i) fibers_[i]->state = State::kReady;
    }
}

}  // namespace emulator
