// Multi-head attention in bf16 with sums in f32: softmax(scale · q · kᵀ) · v for each head, without the scores in memory
// (Dao 2023, FlashAttention-2, algorithm 1).
//
// A block has 64 queries of a head, each of its four warps 16 of them, and goes through the keys that they may see in blocks of
// 32, while the next block comes to shared memory. What a query gets depends on its own keys alone: blocks begin at key 0, and
// keys that a query does not see change no bit of its sums. Keys beyond the length of a sentence are not read.
#pragma once

#include "tile.cuh"

constexpr int kQueries = 64;
constexpr int kKeys = 32;
constexpr float kHidden = -3.0e38f;
constexpr float kLog2E = 1.44269504f, kLn2 = 0.69314718f;

template <int kWidth>
struct Head {
    Tile<kQueries, kWidth> q;
    struct {
        Tile<kKeys, kWidth> k, v;
    } stages[2];
};

// Over the four lanes that have numbers of the same row.
__device__ __forceinline__ float row_maximum(float value) {
    value = fmaxf(value, exchange(value, 1));
    return fmaxf(value, exchange(value, 2));
}

__device__ __forceinline__ float row_sum(float value) {
    value += exchange(value, 1);
    return value + exchange(value, 2);
}

template <int kWidth>
__device__ __forceinline__ void attention(const bf16* q_first, const bf16* k_first, const bf16* v_first, bf16* out,
                                          float* log_sums, const unsigned* lengths, int heads, int kv_heads, int tgt, int src,
                                          long long q_stride, long long k_stride, long long v_stride, float scale, bool causal) {
    const int query_blocks = (tgt + kQueries - 1) / kQueries;
    const int top = blockIdx.x % query_blocks * kQueries;
    const int head = blockIdx.x / query_blocks % heads, sentence = blockIdx.x / query_blocks / heads;
    const int kv_column = head / (heads / kv_heads) * kWidth;
    const int length = lengths && lengths[sentence] < static_cast<unsigned>(src) ? static_cast<int>(lengths[sentence]) : src;
    const int beyond = causal ? src - tgt + 1 : src;  // a query sees the keys before itself and this
    const int keys = causal ? clamp((top + kQueries < tgt ? top + kQueries : tgt) - 1 + beyond, 0, length) : length;
    const long long first_query = static_cast<long long>(sentence) * tgt, first_key = static_cast<long long>(sentence) * src;
    const Matrix q{q_first + first_query * q_stride + head * kWidth, q_stride, tgt, kWidth};
    const Matrix k{k_first + first_key * k_stride + kv_column, k_stride, length, kWidth};
    const Matrix v{v_first + first_key * v_stride + kv_column, v_stride, length, kWidth};

    auto& memory = shared_memory<Head<kWidth>>();
    const auto copy = [&](int block) {
        if (block * kKeys < keys) {
            memory.stages[block % 2].k.copy(k, block * kKeys, 0);
            memory.stages[block % 2].v.copy(v, block * kKeys, 0);
        }
        commit_copies();
    };
    memory.q.copy(q, top, 0);
    copy(0);
    wait_for_copies<0>();
    __syncthreads();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned queries[kWidth / 16][4];
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) memory.q.template load_left<false>(queries[i], warp * 16, i * 16);

    // Of a lane's two rows: the one in its numbers 0 and 1, and the one in its numbers 2 and 3.
    const int rows[2] = {top + warp * 16 + lane / 4, top + warp * 16 + lane / 4 + 8};
    float maxima[2] = {kHidden, kHidden}, totals[2] = {0, 0}, sums[kWidth / 8][4] = {};
#pragma unroll 1
    for (int block = 0; block * kKeys < keys; ++block) {
        wait_for_copies<0>();
        __syncthreads();  // this block is there, and all have read the one that the next copy replaces
        copy(block + 1);
        auto& stage = memory.stages[block % 2];

        float scores[kKeys / 8][4] = {};
#pragma unroll
        for (int i = 0; i < kWidth / 16; ++i) {
#pragma unroll
            for (int j = 0; j < kKeys / 16; ++j) {
                unsigned columns[4];
                stage.k.template load_right<false>(columns, j * 16, i * 16);
                multiply_add(scores[2 * j], queries[i], columns[0], columns[1]);
                multiply_add(scores[2 * j + 1], queries[i], columns[2], columns[3]);
            }
        }

        float highest[2] = {maxima[0], maxima[1]};
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int key = block * kKeys + j * 8 + lane % 4 * 2 + e % 2;
                const bool sees = key < length && (!causal || key < rows[e / 2] + beyond);
                scores[j][e] = sees ? scores[j][e] * scale * kLog2E : kHidden;
                highest[e / 2] = fmaxf(highest[e / 2], scores[j][e]);
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            highest[half] = row_maximum(highest[half]);
            const float factor = exp2f(maxima[half] - highest[half]);
            maxima[half] = highest[half];
            totals[half] *= factor;
#pragma unroll
            for (int j = 0; j < kWidth / 8; ++j) sums[j][half * 2] *= factor, sums[j][half * 2 + 1] *= factor;
        }
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                scores[j][e] = scores[j][e] == kHidden ? 0 : exp2f(scores[j][e] - maxima[e / 2]);
                totals[e / 2] += scores[j][e];
            }
        }

#pragma unroll
        for (int i = 0; i < kKeys / 16; ++i) {
            const float(&left)[4] = scores[2 * i], (&right)[4] = scores[2 * i + 1];
            const unsigned weights[4] = {round_to_bf16(left[0], left[1]), round_to_bf16(left[2], left[3]),
                                         round_to_bf16(right[0], right[1]), round_to_bf16(right[2], right[3])};
#pragma unroll
            for (int j = 0; j < kWidth / 16; ++j) {
                unsigned columns[4];
                stage.v.template load_right<true>(columns, i * 16, j * 16);
                multiply_add(sums[2 * j], weights, columns[0], columns[1]);
                multiply_add(sums[2 * j + 1], weights, columns[2], columns[3]);
            }
        }
    }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const float total = row_sum(totals[half]), inverse = total > 0 ? 1 / total : 0;
        const int row = rows[half];
        if (row >= tgt) continue;
        bf16* target = out + (first_query + row) * heads * kWidth + head * kWidth + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < kWidth / 8; ++j) {
            const unsigned pair = round_to_bf16(sums[j][half * 2] * inverse, sums[j][half * 2 + 1] * inverse);
            *reinterpret_cast<unsigned*>(target + j * 8) = pair;
        }
        if (lane % 4 == 0) {
            const float log_sum = total > 0 ? maxima[half] * kLn2 + logf(total) : kHidden;
            log_sums[(static_cast<long long>(sentence) * heads + head) * tgt + row] = log_sum;
        }
    }
}

// q[batch · tgt, heads · width], k and v[batch · src, kv_heads · width] with strides between their rows, out like q without
// gaps, log_sums[batch, heads, tgt]. `lengths` has the keys of each sentence, or is null.
#define ATTENTION(name, width)                                                                                                \
    extern "C" __global__ void __launch_bounds__(kThreads)                                                                    \
        name(const bf16* q, const bf16* k, const bf16* v, bf16* out, float* log_sums, const unsigned* lengths, int heads,     \
             int kv_heads, int tgt, int src, int q_stride, int k_stride, int v_stride, int causal, float scale) {             \
        attention<width>(q, k, v, out, log_sums, lengths, heads, kv_heads, tgt, src, q_stride, k_stride, v_stride, scale,     \
                         causal != 0);                                                                                        \
    }

ATTENTION(attention_32, 32)
ATTENTION(attention_64, 64)
ATTENTION(attention_128, 128)
