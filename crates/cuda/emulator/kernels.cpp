#include "kernels.hpp"

#include <utility>

#include "../src/kernels/kernels.cu"

namespace emulator {
namespace {

template <typename... Arguments, size_t... kIndices>
Kernel wrap(void (*kernel)(Arguments...), std::index_sequence<kIndices...>) {
    return [kernel](void** arguments) { kernel(*static_cast<Arguments*>(arguments[kIndices])...); };
}

template <typename... Arguments>
Kernel wrap(void (*kernel)(Arguments...)) {
    return wrap(kernel, std::index_sequence_for<Arguments...>{});
}

}  // namespace

const std::map<std::string, Kernel>& kernels() {
#define KERNEL(name) {#name, wrap(name)}
    static const std::map<std::string, Kernel> all{
        KERNEL(attention_32),   KERNEL(attention_64),   KERNEL(attention_128),
        KERNEL(product_nt_128), KERNEL(product_nn_128), KERNEL(product_tn_128),
        KERNEL(product_nt_64),  KERNEL(product_nn_64),  KERNEL(product_tn_64),
    };
    return all;
}

}  // namespace emulator
