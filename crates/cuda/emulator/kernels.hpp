// The kernels by their names.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "block.hpp"

namespace emulator {

// A thread of a kernel, called with pointers to its arguments, as `cuLaunchKernel` gets them.
using Kernel = std::function<void(void**)>;

const std::map<std::string, Kernel>& kernels();

}  // namespace emulator
