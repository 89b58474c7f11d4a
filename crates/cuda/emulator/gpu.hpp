// Stands in for `gpu.cuh` and for the words of CUDA C++ where kernels are compiled for the CPU. Instructions of PTX do here
// what the PTX ISA documents, with the layouts of fragments of `ldmatrix` and `mma.m16n8k16`. The order in which
// threads run, and the time at which copies arrive, are random within what the ISA allows.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "block.hpp"

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define threadIdx (emulator::block.thread)
#define blockIdx (emulator::block.index)
#define __syncthreads() emulator::block.wait_for_block()
#define __syncwarp() emulator::block.wait_for_warp()

using bf16 = uint16_t;

struct float2 {
    float x, y;
};

struct alignas(16) Chunk {
    bf16 values[8];
};

inline float bits_to_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// What was not written since the block began is NaN.
template <typename T>
T& shared_memory() {
    static T memory;
    static uint64_t owner = ~uint64_t{0};
    if (owner != emulator::block.serial) {
        std::memset(static_cast<void*>(&memory), 0xff, sizeof memory);
        owner = emulator::block.serial;
    }
    return memory;
}

// Reads and writes sixteen bytes through pointers that the sanitizers check.
inline void copy_async(void* shared, const void* global, int bytes) {
    if (reinterpret_cast<uintptr_t>(shared) % 16 != 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0) {
        emulator::fail("cp.async of an address that is not a multiple of 16");
    }
    if (bytes < 0 || bytes > 16) emulator::fail("cp.async of less than 0 or more than 16 bytes");
    emulator::block.current().copies.start(shared, global, static_cast<size_t>(bytes));
}

inline void commit_copies() { emulator::block.current().copies.commit(); }

template <int kPending>
void wait_for_copies() {
    emulator::block.current().copies.wait(kPending);
}

template <bool kTransposed>
void load_matrices(unsigned (&matrices)[4], const void* row) {
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) emulator::fail("ldmatrix of an address that is not a multiple of 16");
    const auto rows = emulator::block.share(row);
    const int lane = emulator::block.lane();
    for (int matrix = 0; matrix < 4; ++matrix) {
        unsigned banks = 0;
        for (int i = 0; i < 8; ++i) banks |= 1u << (reinterpret_cast<uintptr_t>(rows[matrix * 8 + i]) / 16 % 8);
        if (banks != 0xff) emulator::fail("ldmatrix of rows in the same banks of shared memory, which takes longer");
    }
    for (int matrix = 0; matrix < 4; ++matrix) {
        const auto number = [&](int row, int column) -> unsigned {
            return static_cast<const bf16*>(rows[matrix * 8 + row])[column];
        };
        const int slow = lane / 4, fast = lane % 4 * 2;
        matrices[matrix] = kTransposed ? number(fast, slow) | number(fast + 1, slow) << 16
                                       : number(slow, fast) | number(slow, fast + 1) << 16;
    }
}

// Products are exact; each sum of sixteen products and the earlier sum is rounded once. A GPU rounds more often.
inline void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned upper, unsigned lower) {
    struct Operands {
        unsigned a[4], b[2];
    };
    const auto operands = emulator::block.share(Operands{{a[0], a[1], a[2], a[3]}, {upper, lower}});
    const int lane = emulator::block.lane();
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        double sum = sums[i];
        for (int k = 0; k < 16; ++k) {
            const int lane_in_row = k % 8 / 2, half = k % 2 * 16;
            const unsigned a_bits = operands[row % 8 * 4 + lane_in_row].a[row / 8 + k / 8 * 2] >> half & 0xffff;
            const unsigned b_bits = operands[column * 4 + lane_in_row].b[k / 8] >> half & 0xffff;
            sum += static_cast<double>(bits_to_float(a_bits << 16)) * static_cast<double>(bits_to_float(b_bits << 16));
        }
        sums[i] = static_cast<float>(sum);
    }
}

inline unsigned round_to_bf16(float first, float second) {
    const auto round = [](float value) -> unsigned {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        if (value != value) return 0x7fff;
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    };
    return round(first) | round(second) << 16;
}

inline float exchange(float value, int mask) { return emulator::block.share(value)[emulator::block.lane() ^ mask]; }
