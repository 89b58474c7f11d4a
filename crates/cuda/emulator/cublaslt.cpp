// The functions of cuBLASLt that the crate calls: products of matrices that are stored by columns, one number after the other.
// Status codes and the values of enums are those of cuBLASLt.
#include <cstdint>
#include <cstring>

namespace {

enum Status { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
enum Type { kF32 = 0, kBf16 = 14 };
enum Attribute { kTransposeA = 3, kTransposeB = 4 };

struct Layout {
    int type;
    uint64_t rows, columns;
    int64_t stride;
};

struct Description {
    int transposed[2] = {0, 0};
};

float read(const void* matrix, const Layout& layout, uint64_t row, uint64_t column) {
    const uint64_t place = column * static_cast<uint64_t>(layout.stride) + row;
    if (layout.type == kF32) return static_cast<const float*>(matrix)[place];
    const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(matrix)[place]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

void write(void* matrix, const Layout& layout, uint64_t row, uint64_t column, float value) {
    const uint64_t place = column * static_cast<uint64_t>(layout.stride) + row;
    if (layout.type == kF32) {
        static_cast<float*>(matrix)[place] = value;
    } else {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        static_cast<uint16_t*>(matrix)[place] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

}  // namespace

#define API extern "C" __attribute__((visibility("default"))) int

// As `cublasLtMatmulHeuristicResult_t`.
struct Choice {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

API cublasLtCreate(void** handle) { return *handle = new int(0), kSuccess; }
API cublasLtDestroy(void* handle) { return delete static_cast<int*>(handle), kSuccess; }
API cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t stride) {
    if ((type != kF32 && type != kBf16) || stride < static_cast<int64_t>(rows)) return kInvalidValue;
    return *layout = new Layout{type, rows, columns, stride}, kSuccess;
}
API cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, kSuccess; }
API cublasLtMatmulDescCreate(Description** description, int, int) { return *description = new Description, kSuccess; }
API cublasLtMatmulDescSetAttribute(Description* description, int attribute, const void* value, size_t bytes) {
    if ((attribute != kTransposeA && attribute != kTransposeB) || bytes != sizeof(int)) return kInvalidValue;
    std::memcpy(&description->transposed[attribute - kTransposeA], value, bytes);
    return kSuccess;
}
API cublasLtMatmulDescDestroy(Description* description) { return delete description, kSuccess; }
API cublasLtMatmulPreferenceCreate(void** preference) { return *preference = new int(0), kSuccess; }
API cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, size_t bytes) {
    // The bytes of the workspace, and the alignments of four matrices.
    const size_t expected = attribute == 1 ? 8 : attribute >= 5 && attribute <= 8 ? 4 : 0;
    return bytes == expected ? kSuccess : kInvalidValue;
}
API cublasLtMatmulPreferenceDestroy(void* preference) { return delete static_cast<int*>(preference), kSuccess; }
API cublasLtMatmulAlgoGetHeuristic(void*, const Description* description, const Layout* a, const Layout* b, const Layout*,
                                   const Layout* d, void*, int, Choice* choice, int* count) {
    const uint64_t m = description->transposed[0] ? a->columns : a->rows, k = description->transposed[0] ? a->rows : a->columns;
    const uint64_t n = description->transposed[1] ? b->rows : b->columns, b_k = description->transposed[1] ? b->columns : b->rows;
    if (k != b_k || d->rows != m || d->columns != n) return kInvalidValue;
    *choice = Choice{};
    return *count = 1, kSuccess;
}
API cublasLtMatmul(void*, const Description* description, const float* alpha, const void* a, const Layout* a_layout,
                   const void* b, const Layout* b_layout, const float* beta, const void* c, const Layout* c_layout, void* d,
                   const Layout* d_layout, const void*, void*, size_t, void*) {
    const bool a_transposed = description->transposed[0] != 0, b_transposed = description->transposed[1] != 0;
    const uint64_t depth = a_transposed ? a_layout->rows : a_layout->columns;
    for (uint64_t column = 0; column < d_layout->columns; ++column) {
        for (uint64_t row = 0; row < d_layout->rows; ++row) {
            double sum = 0;
            for (uint64_t k = 0; k < depth; ++k) {
                const float left = a_transposed ? read(a, *a_layout, k, row) : read(a, *a_layout, row, k);
                const float right = b_transposed ? read(b, *b_layout, column, k) : read(b, *b_layout, k, column);
                sum += static_cast<double>(left) * static_cast<double>(right);
            }
            float value = *alpha * static_cast<float>(sum);
            if (*beta != 0) value += *beta * read(c, *c_layout, row, column);
            write(d, *d_layout, row, column, value);
        }
    }
    return kSuccess;
}
