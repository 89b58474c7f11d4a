// out[m, n] = a · b, of matrices in bf16 with sums in f32.
//
// A block computes a tile of kTile × kTile numbers with four warps, each a quarter of it. Slices of 32 columns of `a` and rows
// of `b` come to shared memory while earlier ones are multiplied. Every number is one sum over k in ascending steps of 16,
// whatever the tile and the grid, so it depends on nothing but its row of `a` and its column of `b`.
#pragma once

#include "tile.cuh"

constexpr int kDepth = 32;  // columns of `a` and rows of `b` in a slice
constexpr int kStages = 3;  // slices in shared memory: with tiles of 128, 48 KiB, which every GPU has without asking

// What happens to the result, as `Kind` of `product.rs` has it.
enum Output { kStoreF32 = 0, kAddF32 = 1, kStoreBf16 = 2 };

// A slice of kTile rows of `a`, or columns of `b`, by kDepth.
template <int kTile, bool kAlongDepth>
using Slice = Tile<kAlongDepth ? kTile : kDepth, kAlongDepth ? kDepth : kTile>;

// What a block has in shared memory: slices, and at the end, 16 rows of the result of each warp.
template <int kTile, bool kATransposed, bool kBTransposed>
union Memory {
    struct {
        Slice<kTile, !kATransposed> a[kStages];
        Slice<kTile, kBTransposed> b[kStages];
    } stages;
    float rows[kThreads / 32][16][kTile / 2 + 8];  // the 8 keep rows in different banks
};

// Two neighbors of a row of the result, of which the second may lie outside.
__device__ __forceinline__ void store(void* out, long long place, float first, float second, bool both, Output output) {
    if (output == kStoreBf16) {
        bf16* target = static_cast<bf16*>(out) + place;
        const unsigned pair = round_to_bf16(first, second);
        if (both && reinterpret_cast<unsigned long long>(target) % 4 == 0) {
            *reinterpret_cast<unsigned*>(target) = pair;
        } else {
            target[0] = static_cast<bf16>(pair);
            if (both) target[1] = static_cast<bf16>(pair >> 16);
        }
    } else {
        float* target = static_cast<float*>(out) + place;
        if (both && reinterpret_cast<unsigned long long>(target) % 8 == 0) {
            float2* pair = reinterpret_cast<float2*>(target);
            const float2 earlier = output == kAddF32 ? *pair : float2{0, 0};
            *pair = float2{earlier.x + first, earlier.y + second};
        } else {
            target[0] = (output == kAddF32 ? target[0] : 0) + first;
            if (both) target[1] = (output == kAddF32 ? target[1] : 0) + second;
        }
    }
}

template <int kTile, bool kATransposed, bool kBTransposed>
__device__ __forceinline__ void product(const bf16* a_first, const bf16* b_first, void* out, int m, int n, int k, int a_stride,
                                        int b_stride, int out_stride, Output output) {
    constexpr int kQuarter = kTile / 2;  // rows and columns of the tile that a warp computes
    constexpr int kDown = kQuarter / 16, kAcross = kQuarter / 8;
    // Blocks that run at the same time take tiles of eight rows of tiles, so that they find both operands in the L2 cache.
    const int tile_rows = (m + kTile - 1) / kTile, tile_columns = (n + kTile - 1) / kTile;
    const int group = blockIdx.x / (8 * tile_columns), in_group = blockIdx.x % (8 * tile_columns);
    const int group_rows = clamp(tile_rows - group * 8, 1, 8);
    const int top = (group * 8 + in_group % group_rows) * kTile, left = in_group / group_rows * kTile;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_top = warp / 2 * kQuarter, warp_left = warp % 2 * kQuarter;

    auto& memory = shared_memory<Memory<kTile, kATransposed, kBTransposed>>();
    auto& stages = memory.stages;
    const Matrix a{a_first, a_stride, kATransposed ? k : m, kATransposed ? m : k};
    const Matrix b{b_first, b_stride, kBTransposed ? n : k, kBTransposed ? k : n};
    const int slices = (k + kDepth - 1) / kDepth;
    const auto copy = [&](int slice) {
        if (slice < slices) {
            const int depth = slice * kDepth;
            stages.a[slice % kStages].copy(a, kATransposed ? depth : top, kATransposed ? top : depth);
            stages.b[slice % kStages].copy(b, kBTransposed ? left : depth, kBTransposed ? depth : left);
        }
        commit_copies();
    };

    float sums[kDown][kAcross][4] = {};
#pragma unroll 1
    for (int slice = 0; slice < kStages - 1; ++slice) copy(slice);
#pragma unroll 1
    for (int slice = 0; slice < slices; ++slice) {
        wait_for_copies<kStages - 2>();
        __syncthreads();  // this slice is there, and all have read the one that the next copy replaces
        copy(slice + kStages - 1);
        auto& a_slice = stages.a[slice % kStages];
        auto& b_slice = stages.b[slice % kStages];
#pragma unroll
        for (int depth = 0; depth < kDepth; depth += 16) {
            unsigned rows[kDown][4], columns[kAcross / 2][4];
#pragma unroll
            for (int i = 0; i < kDown; ++i) {
                const int row = warp_top + i * 16;
                a_slice.template load_left<kATransposed>(rows[i], kATransposed ? depth : row, kATransposed ? row : depth);
            }
#pragma unroll
            for (int j = 0; j < kAcross / 2; ++j) {
                const int column = warp_left + j * 16;
                const int row = kBTransposed ? column : depth, across = kBTransposed ? depth : column;
                b_slice.template load_right<!kBTransposed>(columns[j], row, across);
            }
#pragma unroll
            for (int i = 0; i < kDown; ++i) {
#pragma unroll
                for (int j = 0; j < kAcross; ++j) {
                    multiply_add(sums[i][j], rows[i], columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
    }

    __syncthreads();  // all have read the last slice
    auto& patch = memory.rows[warp];
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) {
            float* upper = &patch[lane / 4][j * 8 + lane % 4 * 2];
            float* lower = &patch[lane / 4 + 8][j * 8 + lane % 4 * 2];
            upper[0] = sums[i][j][0], upper[1] = sums[i][j][1];
            lower[0] = sums[i][j][2], lower[1] = sums[i][j][3];
        }
        __syncwarp();
#pragma unroll 1
        for (int pair = lane; pair < 16 * kQuarter / 2; pair += 32) {
            const int patch_row = pair / (kQuarter / 2), patch_column = pair % (kQuarter / 2) * 2;
            const int row = top + warp_top + i * 16 + patch_row, column = left + warp_left + patch_column;
            if (row < m && column < n) {
                store(out, static_cast<long long>(row) * out_stride + column, patch[patch_row][patch_column],
                      patch[patch_row][patch_column + 1], column + 1 < n, output);
            }
        }
        __syncwarp();
    }
}

// `nt`: a[m, k] and b[n, k]. `nn`: a[m, k] and b[k, n]. `tn`: a[k, m] and b[k, n]. A stride is that between rows in memory.
#define PRODUCT(name, tile, a_transposed, b_transposed)                                                                       \
    extern "C" __global__ void __launch_bounds__(kThreads, 2)                                                                 \
        name(const bf16* a, const bf16* b, void* out, int m, int n, int k, int a_stride, int b_stride, int out_stride,        \
             int output) {                                                                                                    \
        product<tile, a_transposed, b_transposed>(a, b, out, m, n, k, a_stride, b_stride, out_stride,                         \
                                                  static_cast<Output>(output));                                               \
    }

PRODUCT(product_nt_128, 128, false, true)
PRODUCT(product_nn_128, 128, false, false)
PRODUCT(product_tn_128, 128, true, false)
PRODUCT(product_nt_64, 64, false, true)
PRODUCT(product_nn_64, 64, false, false)
PRODUCT(product_tn_64, 64, true, false)
