// The functions of NVIDIA's driver that the crate calls, over one emulated device of compute capability 8.0. Device memory is
// memory of the process, every operation is done before its call returns, and a kernel is looked up by its name, so what is in
// a cubin does not matter. Status codes are those of `CUresult`.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "kernels.hpp"

namespace {

enum Status { kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101, kNotFound = 500 };

using Clock = std::chrono::steady_clock;

constexpr size_t kMemory = size_t{1} << 30;
size_t used = 0;
std::map<unsigned long long, size_t> sizes;
std::mutex mutex;  // calls of several threads come one after the other, as on a device
int token;  // something to point to where only identity matters

int allocate(unsigned long long* address, size_t bytes) {
    const std::lock_guard lock(mutex);
    if (bytes == 0) return kInvalidValue;
    if (bytes > kMemory - used) return kOutOfMemory;
    // As much as was asked for, so that AddressSanitizer notices a byte too many. The driver aligns to 256 bytes.
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes) != 0) return kOutOfMemory;
    std::memset(memory, 0xff, bytes);
    *address = reinterpret_cast<unsigned long long>(memory);
    sizes[*address] = bytes;
    used += bytes;
    return kSuccess;
}

int release(unsigned long long address) {
    const std::lock_guard lock(mutex);
    const auto entry = sizes.find(address);
    if (entry == sizes.end()) return kInvalidValue;
    used -= entry->second;
    sizes.erase(entry);
    std::free(reinterpret_cast<void*>(address));
    return kSuccess;
}

void* pointer(unsigned long long address) { return reinterpret_cast<void*>(address); }

}  // namespace

#define API extern "C" __attribute__((visibility("default"))) int

API cuInit(unsigned) { return kSuccess; }
API cuDriverGetVersion(int* version) { return *version = 12080, kSuccess; }
API cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
API cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal == 0 ? kSuccess : kInvalidDevice; }
API cuDeviceGetName(char* name, int length, int) {
    std::strncpy(name, "emulated GPU", static_cast<size_t>(length));
    return kSuccess;
}
API cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = kMemory, kSuccess; }
API cuDeviceGetAttribute(int* value, int attribute, int) {
    enum { kMultiprocessors = 16, kMajor = 75, kMinor = 76, kMemoryPools = 115 };
    switch (attribute) {
        case kMultiprocessors: return *value = 2, kSuccess;
        case kMajor: return *value = 8, kSuccess;
        case kMinor: return *value = 0, kSuccess;
        case kMemoryPools: return *value = 1, kSuccess;
        default: return kInvalidValue;
    }
}

API cuDevicePrimaryCtxRetain(void** context, int) { return *context = &token, kSuccess; }
API cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
API cuCtxSetCurrent(void*) { return kSuccess; }
API cuCtxGetCurrent(void** context) { return *context = &token, kSuccess; }
API cuCtxSynchronize() { return kSuccess; }
API cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = kMemory - used, *total = kMemory, kSuccess; }

API cuStreamCreate(void** stream, unsigned) { return *stream = &token, kSuccess; }
API cuStreamDestroy_v2(void*) { return kSuccess; }
API cuStreamSynchronize(void*) { return kSuccess; }
API cuStreamWaitEvent(void*, void*, unsigned) { return kSuccess; }

API cuEventCreate(void** event, unsigned) { return *event = new Clock::time_point(), kSuccess; }
API cuEventRecord(void* event, void*) { return *static_cast<Clock::time_point*>(event) = Clock::now(), kSuccess; }
API cuEventSynchronize(void*) { return kSuccess; }
API cuEventElapsedTime(float* milliseconds, void* start, void* end) {
    const auto time = *static_cast<Clock::time_point*>(end) - *static_cast<Clock::time_point*>(start);
    return *milliseconds = std::chrono::duration<float, std::milli>(time).count(), kSuccess;
}
API cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) { return cuEventElapsedTime(milliseconds, start, end); }
API cuEventDestroy_v2(void* event) { return delete static_cast<Clock::time_point*>(event), kSuccess; }

API cuMemAlloc_v2(unsigned long long* address, size_t bytes) { return allocate(address, bytes); }
API cuMemAllocAsync(unsigned long long* address, size_t bytes, void*) { return allocate(address, bytes); }
API cuMemFree_v2(unsigned long long address) { return release(address); }
API cuMemFreeAsync(unsigned long long address, void*) { return release(address); }
API cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
    return std::memcpy(pointer(to), from, bytes), kSuccess;
}
API cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
    return std::memcpy(to, pointer(from), bytes), kSuccess;
}
API cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void*) {
    return std::memset(pointer(to), value, bytes), kSuccess;
}

API cuModuleLoadData(void** module, const void*) { return *module = &token, kSuccess; }
API cuModuleUnload(void*) { return kSuccess; }
API cuModuleGetFunction(const emulator::Kernel** function, void*, const char* name) {
    const auto& kernels = emulator::kernels();
    const auto kernel = kernels.find(name);
    if (kernel == kernels.end()) return kNotFound;
    return *function = &kernel->second, kSuccess;
}
API cuLaunchKernel(const emulator::Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void*, void** arguments, void**) {
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared_bytes != 0) return kInvalidValue;
    if (block_x == 0 || block_x > 1024) return kInvalidValue;
    const std::lock_guard lock(mutex);
    for (unsigned x = 0; x < grid_x; ++x) {
        emulator::block.run(block_x, emulator::Dim3{x, 0, 0}, [&] { (*kernel)(arguments); });
    }
    return kSuccess;
}

API cuGetErrorName(int, const char** name) { return *name = "emulated", kSuccess; }
API cuGetErrorString(int, const char** text) { return *text = "an error of the emulated driver", kSuccess; }
