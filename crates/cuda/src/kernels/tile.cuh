// Parts of matrices in shared memory.
#pragma once

#include "gpu.cuh"

constexpr int kThreads = 128;  // of every block that uses tiles

__device__ __forceinline__ int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

// A matrix in bf16. The numbers of a row are neighbors, and `stride` is from the beginning of a row to that of the next.
struct Matrix {
    const bf16* first;
    long long stride;
    int rows, columns;

    // Whether all rows begin at multiples of 16 bytes.
    __device__ __forceinline__ bool is_aligned() const {
        const auto bytes = static_cast<unsigned long long>(stride) * sizeof(bf16);
        return (reinterpret_cast<unsigned long long>(first) | bytes) % 16 == 0;
    }
};

// kRows × kColumns numbers of a matrix in shared memory. Chunks of 16 bytes are permuted such that eight of them at one place
// of eight successive rows lie in different banks.
template <int kRows, int kColumns>
struct Tile {
    static constexpr int kChunks = kColumns / 8;                // in a row
    static constexpr int kCopies = kRows * kChunks / kThreads;  // by each thread
    static constexpr int kStep = kThreads / kChunks;            // rows between them
    static_assert(kStep % 8 == 0, "what a thread copies has the same place in each row");

    Chunk chunks[kRows * kChunks];

    __device__ __forceinline__ Chunk* at(int row, int chunk) {
        return &chunks[row * kChunks + (chunk ^ (kChunks == 4 ? row >> 1 & 3 : row & 7))];
    }

    // Starts to copy the tile that begins at `top`, `left` of a matrix. What lies outside is 0.
    __device__ __forceinline__ void copy(const Matrix& matrix, int top, int left) {
        const int chunk = threadIdx.x % kChunks, first = threadIdx.x / kChunks;
        const int row = top + first, column = left + chunk * 8;
        const bf16* source = matrix.first + row * matrix.stride + column;
        Chunk* target = at(first, chunk);
        const int inside = clamp(matrix.columns - column, 0, 8);
        if (!matrix.is_aligned()) {
#pragma unroll 1
            for (int i = 0; i < kCopies; ++i) {
                const int count = row + i * kStep < matrix.rows ? inside : 0;
                Chunk values;
#pragma unroll
                for (int j = 0; j < 8; ++j) values.values[j] = j < count ? source[j] : 0;
                *target = values;
                source += kStep * matrix.stride, target += kStep * kChunks;
            }
        } else if (top + kRows <= matrix.rows && left + kColumns <= matrix.columns) {
#pragma unroll
            for (int i = 0; i < kCopies; ++i) {
                copy_async(target, source, 16);
                source += kStep * matrix.stride, target += kStep * kChunks;
            }
        } else {
#pragma unroll
            for (int i = 0; i < kCopies; ++i) {
                copy_async(target, source, row + i * kStep < matrix.rows ? inside * 2 : 0);
                source += kStep * matrix.stride, target += kStep * kChunks;
            }
        }
    }

    // The 16 × 16 numbers at `row`, `column`, or their transpose, as the left operand of `multiply_add`.
    template <bool kTransposed>
    __device__ __forceinline__ void load_left(unsigned (&matrices)[4], int row, int column) {
        load<kTransposed, !kTransposed>(matrices, row, column);
    }

    // The same as the right operands of two `multiply_add`: one of the first eight columns, or if transposed rows, and one of
    // the others. The operand of a product is transposed if its columns are neighbors in memory.
    template <bool kTransposed>
    __device__ __forceinline__ void load_right(unsigned (&matrices)[4], int row, int column) {
        load<kTransposed, kTransposed>(matrices, row, column);
    }

private:
    // Matrices of 8 × 8 in the order of the rows, or of the columns.
    template <bool kTransposed, bool kRowsFirst>
    __device__ __forceinline__ void load(unsigned (&matrices)[4], int row, int column) {
        const int lane = threadIdx.x % 32, first = lane >> 3 & 1, second = lane >> 4;
        const int down = kRowsFirst ? first : second, across = kRowsFirst ? second : first;
        load_matrices<kTransposed>(matrices, at(row + down * 8 + (lane & 7), column / 8 + across));
    }
};
