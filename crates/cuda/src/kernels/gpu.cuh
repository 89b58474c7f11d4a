// What the kernels use of a GPU beyond C++. Compiled for a GPU, each function is one instruction of PTX; compiled for the CPU,
// with EMULATED, `emulator/gpu.hpp` has functions of the same names that do what the PTX ISA says about these instructions.
#pragma once

#ifdef EMULATED
#include "../../emulator/gpu.hpp"
#else

// The bits of a number in bf16: the upper half of those of the same number in f32.
using bf16 = unsigned short;

// Sixteen bytes, which are copied at once.
struct alignas(16) Chunk {
    bf16 values[8];
};

// The shared memory of a block. A kernel has one type of it.
template <typename T>
__device__ __forceinline__ T& shared_memory() {
    __shared__ T memory;
    return memory;
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Starts to copy the first `bytes` bytes at `global` to `shared` and fills up to 16 with zeros. Both are aligned to 16 bytes.
__device__ __forceinline__ void copy_async(void* shared, const void* global, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(bytes)
                 : "memory");
}

// Ends a group of the copies of this thread.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all groups of this thread but the last `kPending` have arrived.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four matrices of 8 × 8 numbers in bf16, of which the lanes 8 i to 8 i + 7 name the rows of matrix i. Lane l gets numbers
// 2 (l mod 4) and the next one of row l / 4 of each, or of column l / 4 if `kTransposed`.
template <bool kTransposed>
__device__ __forceinline__ void load_matrices(unsigned (&matrices)[4], const void* row) {
    if (kTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                     : "r"(shared_address(row))
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                     : "r"(shared_address(row))
                     : "memory");
    }
}

// sums[16, 8] += a[16, 16] · b[16, 8], in bf16 with sums in f32. Of the matrices of 8 × 8, `a` has the upper left, lower left,
// upper right and lower right one, as `load_matrices` gives them, and b has the upper and the lower one, transposed. Lane l has
// sums[l / 4, 2 (l mod 4)], the next one of the row, and the same two of the row l / 4 + 8.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned upper, unsigned lower) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(upper), "r"(lower));
}

// Two numbers in bf16, of which `first` has the lower address; rounded to nearest, ties to even.
__device__ __forceinline__ unsigned round_to_bf16(float first, float second) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

// The value of the lane whose number differs from this lane's in the bits `mask`.
__device__ __forceinline__ float exchange(float value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

#endif
